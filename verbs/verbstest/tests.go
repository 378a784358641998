package verbstest

import "heddle/verbs"

// tests is the suite. The rules are those of package verbs unless they name
// another source: "IBTA" is the InfiniBand architecture specification, volume 1,
// "V1" to "V12" are cases that users of such devices ran into.
func tests() []test {
	var list []test
	for _, part := range [][]test{operations(), orders(), completions(), accesses(), windowTests(), queues(), datagramTests(), lifetimes(), cases()} {
		list = append(list, part...)
	}
	return list
}

func ops(list ...verbs.Op) verbs.Ops { return verbs.OpsOf(list...) }

func operations() []test {
	return []test{
		{name: "SizesSend", rule: "a SEND of any length comes whole, to its buffer only (IBTA 9.7.2)", ops: ops(verbs.OpSend), run: sizesOf(verbs.RC, verbs.OpSend)},
		{name: "SizesSendImm", rule: "so does a SEND_WITH_IMM, with its number (IBTA 9.2.7)", ops: ops(verbs.OpSendImm), run: sizesOf(verbs.RC, verbs.OpSendImm)},
		{name: "SizesWrite", rule: "a WRITE of any length comes whole, to its place only (IBTA 9.4.3)", ops: ops(verbs.OpWrite), run: sizesOf(verbs.RC, verbs.OpWrite)},
		{name: "SizesRead", rule: "a READ of any length brings what is there, to its place only (IBTA 9.4.4)", ops: ops(verbs.OpRead), run: sizesOf(verbs.RC, verbs.OpRead)},
		{name: "SizesSendUC", rule: "UC carries SENDs of any length", service: verbs.UC, ops: ops(verbs.OpSend), run: sizesOf(verbs.UC, verbs.OpSend)},
		{name: "SizesWriteUC", rule: "UC carries WRITEs of any length", service: verbs.UC, ops: ops(verbs.OpWrite), run: sizesOf(verbs.UC, verbs.OpWrite)},
		{name: "SizesWriteImmUC", rule: "UC carries WRITE_WITH_IMM of any length", service: verbs.UC, ops: ops(verbs.OpWriteImm), run: sizesOf(verbs.UC, verbs.OpWriteImm)},
		{name: "BothWays", rule: "both ends of a connection are alike", run: bothWays},
		{name: "TooLong", rule: "a message beyond Caps.MaxMessage is refused, or completes with a local length error", run: tooLong},
		{name: "FetchAdd", rule: "FETCH_AND_ADD adds modulo 2^64 and gives the old value (IBTA 9.4.5.1)", ops: ops(verbs.OpFetchAdd), run: atomics(verbs.OpFetchAdd)},
		{name: "CompareSwap", rule: "COMPARE_AND_SWAP swaps where the old value is Compare, and gives it (IBTA 9.4.5.2)", ops: ops(verbs.OpCompareSwap), run: atomics(verbs.OpCompareSwap)},
		{name: "Counting", rule: "atomics of several QPs on one word lose nothing (IBTA 9.4.5.3)", ops: ops(verbs.OpFetchAdd), run: counting},
		{name: "ListsSend", rule: "up to DeviceAttr.MaxSGE pieces of memory make a message, and take one apart", ops: ops(verbs.OpSend), run: lists(verbs.OpSend)},
		{name: "ListsWrite", rule: "so for a WRITE's source", ops: ops(verbs.OpWrite), run: lists(verbs.OpWrite)},
		{name: "ListsRead", rule: "so for a READ's destination", ops: ops(verbs.OpRead), run: lists(verbs.OpRead)},
		{name: "OneSGEMore", rule: "more SGEs than QPAttr has are refused with ErrTooManySGEs and the limit", run: oneMore},
		{name: "ImmediateSend", rule: "Imm is a number, the same at both ends", ops: ops(verbs.OpSendImm), run: immediates(verbs.OpSendImm)},
		{name: "ImmediateWrite", rule: "so for a WRITE_WITH_IMM", ops: ops(verbs.OpWriteImm), run: immediates(verbs.OpWriteImm)},
		{name: "ShortMessages", rule: "a message shorter than its buffer leaves the rest of it alone", ops: ops(verbs.OpSend), run: shortMessages},
		{name: "Reused", rule: "a work request and its list belong to the caller again when the post call returns", run: reused},
	}
}

func orders() []test {
	return []test{
		{name: "WriteOrder", rule: "the bytes of a WRITE come in the order of Caps.WriteOrder", ops: ops(verbs.OpWrite), promise: func(c *verbs.Caps) bool { return c.WriteOrder.Chunk > 1 || c.WriteOrder.Last > 0 }, run: writeOrder},
		{name: "FetchOrder", rule: "the bytes of a READ are fetched in the order of Caps.FetchOrder", ops: ops(verbs.OpRead), promise: func(c *verbs.Caps) bool { return c.FetchOrder.Chunk >= 16 }, run: fetchOrder},
		{name: "PlacementOrder", rule: "the bytes of a WRITE are in memory before those of the next one, as Caps.PlacementOrder promises", ops: ops(verbs.OpWrite), promise: func(c *verbs.Caps) bool { return c.PlacementOrder.Holds }, run: placementOrder},
		{name: "CompletionOrderSend", rule: "when a SEND completes at the receiver, the WRITEs before it are in memory, as Caps.CompletionOrder promises", ops: ops(verbs.OpWrite, verbs.OpSend), promise: completionHolds, run: completionOrder(verbs.OpSend)},
		{name: "CompletionOrderWriteImm", rule: "so for a WRITE_WITH_IMM", ops: ops(verbs.OpWrite, verbs.OpWriteImm), promise: completionHolds, run: completionOrder(verbs.OpWriteImm)},
		{name: "DeliveryOrder", rule: "SENDs come in the order in which they were posted, as Caps.DeliveryOrder promises", ops: ops(verbs.OpSend), promise: func(c *verbs.Caps) bool { return c.DeliveryOrder.Holds }, run: deliveryOrder},
		{name: "ReadAfterWrite", rule: "a READ sees a WRITE of the same QP that completed before it (IBTA 10.8.3)", ops: ops(verbs.OpWrite, verbs.OpRead), run: readAfterWrite},
		{name: "Fence", rule: "a fenced request begins when the READs before it are done (IBTA 10.8.3.3)", ops: ops(verbs.OpRead), run: fence},
	}
}

func completionHolds(c *verbs.Caps) bool { return c.CompletionOrder.Holds }

func completions() []test {
	return []test{
		{name: "EachOnce", rule: "each signalled request completes once, in order (IBTA 10.8.5)", run: eachOnce},
		{name: "Mixed", rule: "so do requests of different operations", run: mixed},
		{name: "Unsignaled", rule: "a request without Signaled that is done makes no completion (IBTA 10.8.5)", run: unsignaled},
		{name: "SigAll", rule: "with QPAttr.SigAll each request makes one", run: sigAll},
		{name: "UnsignaledFails", rule: "a request that fails completes, signalled or not (IBTA 10.8.5)", run: unsignaledFails},
		{name: "FlushByModify", rule: "Modify to Err completes what is posted as flushed, once and in order (IBTA 10.3.1.7)", run: flushByModify},
		{name: "RecvQueueFull", rule: "a receive too many is refused with ErrQueueFull", run: queueFull},
		{name: "SendQueueFull", rule: "a request too many is refused with ErrQueueFull", ops: ops(verbs.OpSend), run: sendQueueFull},
		{name: "NoAllocs", rule: "posting and polling allocate nothing", run: noAllocs},
		{name: "Traffic", rule: "a goroutine for each queue of a QP is allowed, and no message gets lost", ops: ops(verbs.OpSend), run: ordinaryTraffic},
		{name: "SharedCQ", rule: "several goroutines may post to QPs of one CQ, while one polls it", run: sharedCQ},
	}
}

func accesses() []test {
	return []test{
		{name: "AccessWrite", rule: "a WRITE without the key, the right or the place is refused, the QP is in ERR, memory is untouched (IBTA 9.7.4.1)", ops: ops(verbs.OpWrite), run: accessOf(verbs.OpWrite)},
		{name: "AccessWriteImm", rule: "so for a WRITE_WITH_IMM", ops: ops(verbs.OpWriteImm), run: accessOf(verbs.OpWriteImm)},
		{name: "AccessRead", rule: "so for a READ", ops: ops(verbs.OpRead), run: accessOf(verbs.OpRead)},
		{name: "LocalProtection", rule: "memory of one's own without key or place makes a local protection error (IBTA 10.10.1)", run: localProtection},
		{name: "ReadOnly", rule: "a READ into memory without LocalWrite makes a local protection error (IBTA 10.6.3)", ops: ops(verbs.OpRead), run: readOnly},
		{name: "BadBuffer", rule: "a message to a buffer that the receiver may not use fails at both ends (IBTA 9.9.2)", ops: ops(verbs.OpSend), run: badReceiveBuffer},
		{name: "LongMessage", rule: "a message longer than its buffer fails at both ends: local length, remote invalid request (IBTA 9.9.2)", ops: ops(verbs.OpSend), run: longMessage},
		{name: "InvalidRights", rule: "RemoteWrite and RemoteAtomic need LocalWrite (IBTA 10.6.3)", run: invalidRights},
		{name: "Names", rule: "an MR tells its length, and names its bytes", run: names},
	}
}

func windowTests() []test {
	need := ops(verbs.OpBind, verbs.OpLocalInv, verbs.OpWrite)
	return []test{
		{name: "Windows", rule: "a window lets peers do each operation in a part of an MR (IBTA 10.6.7)", feature: featureWindows2, ops: need, run: windowOperations},
		{name: "WindowBounds", rule: "and nothing beyond that part (IBTA 10.6.7.2)", feature: featureWindows2, ops: need, run: windowBounds(verbs.MWType2)},
		{name: "WindowRights", rule: "and only what OpBind allowed, and the QP allows (IBTA 10.6.7.2)", feature: featureWindows2, ops: need, run: windowRights},
		{name: "WindowEnds", rule: "a key is of no use before its bind, and after the window was taken back, bound anew or closed (IBTA 10.6.7.2.3)", feature: featureWindows2, ops: need, run: windowEnds},
		{name: "WindowQP", rule: "a window of type 2 is for the QP that bound it (IBTA 10.6.7.2.1)", feature: featureWindows2, ops: need, run: windowOfOneQP},
		{name: "WindowPosts", rule: "a bind across protection domains, or of local rights, is refused with ErrInvalid (IBTA 10.6.7.2.3)", feature: featureWindows2, ops: need, run: windowPosts},
		{name: "WindowFaults", rule: "a bind fails to an MR without the right, beyond it, of nothing, of a window that is bound (IBTA 10.6.7.2.3)", feature: featureWindows2, ops: need, run: windowFaults},
		{name: "WindowWraps", rule: "a bind of what wraps 2^64 fails", feature: featureWindows2, ops: need, run: windowWraps},
		{name: "WindowInvalidateQP", rule: "OpLocalInv of a window fails on another QP than bound it (IBTA 10.8.2.3)", feature: featureWindows2, ops: need, run: foreignInvalidate},
		{name: "WindowInvalidate", rule: "OpLocalInv fails of what is no window of type 2 (IBTA 10.8.2.3)", feature: featureWindows2, ops: need, run: wrongInvalidate},
		{name: "WindowBusy", rule: "an MR is ErrBusy as long as a window is bound to it (IBTA 10.6.7.2.6)", feature: featureWindows2, ops: need, run: windowBusy},
		{name: "WindowClosedQP", rule: "a QP with windows of type 2 closes, and they with it, or is ErrBusy until they are", feature: featureWindows2, ops: need, run: windowOfClosedQP},
		{name: "WindowOrder", rule: "a window is bound before requests after its bind begin (IBTA 10.8.3.3)", feature: featureWindows2, ops: need | ops(verbs.OpSend), run: windowOrder},
		{name: "Window1Shared", rule: "a window of type 1 is for all QPs of its PD, and not for OpLocalInv (IBTA 10.6.7.2.1)", feature: featureWindows1, ops: need, run: windowShared},
		{name: "Window1Bounds", rule: "a window of type 1 has bounds as well", feature: featureWindows1, ops: need, run: windowBounds(verbs.MWType1)},
		{name: "Window1Rebound", rule: "a window of type 1 is bound anew as it is, and taken back by a bind of nothing (IBTA 10.6.7.2.2)", feature: featureWindows1, ops: ops(verbs.OpBind, verbs.OpWrite), run: windowRebound},
		{name: "DeviceMemory", rule: "peers write and read a device's memory as any other", feature: featureDeviceMemory, ops: ops(verbs.OpWrite, verbs.OpRead), run: deviceAccess},
		{name: "DeviceMemoryCopies", rule: "ReadAt and WriteAt see what peers see", feature: featureDeviceMemory, ops: ops(verbs.OpWrite, verbs.OpRead), run: deviceCopies},
		{name: "DeviceMemoryAtomics", rule: "atomics work in a device's memory", feature: featureDeviceMemory, ops: ops(verbs.OpFetchAdd), run: deviceAtomics},
		{name: "DeviceMemoryBounds", rule: "more than there is cannot be had, nor what is beyond be reached", feature: featureDeviceMemory, ops: ops(verbs.OpWrite), run: deviceBounds},
		{name: "DeviceMemoryBusy", rule: "device memory is ErrBusy as long as an MR is of it", feature: featureDeviceMemory, run: deviceBusy},
	}
}

func queues() []test {
	return []test{
		{name: "Arm", rule: "a completion makes an event where Arm asked for it, once; what came before makes none (IBTA 11.4.2.2)", run: arm},
		{name: "Solicited", rule: "Arm for solicited ones tells of these and of errors only (IBTA 11.4.2.2)", ops: ops(verbs.OpSend), run: solicited},
		{name: "WaitEnds", rule: "Wait ends with its context, and with ErrClosed", run: waitEnds},
		{name: "Depth", rule: "a CQ holds what it was made for, again and again", run: cqDepth},
		{name: "PollPart", rule: "Poll takes as many as fit", run: pollPart},
		{name: "SRQShared", rule: "the messages of several QPs take the buffers of an SRQ in order (IBTA 10.2.9)", feature: featureSRQ, ops: ops(verbs.OpSend), run: srqShared},
		{name: "SRQLimit", rule: "Limit makes one event when fewer buffers are left (IBTA 10.2.9.2)", feature: featureSRQ, ops: ops(verbs.OpSend), run: srqLimit},
		{name: "SRQEmpty", rule: "a message waits for a buffer of an empty SRQ (IBTA 9.7.5.2.8)", feature: featureSRQ, ops: ops(verbs.OpSend), run: srqEmpty},
		{name: "SRQLastWQE", rule: "an SRQ keeps its buffers when a QP fails, of which an event tells (IBTA 10.2.9.3)", feature: featureSRQ, ops: ops(verbs.OpSend), run: srqLastWQE},
		{name: "SRQBounds", rule: "an SRQ has limits", feature: featureSRQ, run: srqBounds},
	}
}

func datagramTests() []test {
	ud := verbs.UD
	return []test{
		{name: "Datagrams", rule: "a datagram comes whole, after 40 bytes, with its sender's number (IBTA 9.8.3)", service: ud, ops: ops(verbs.OpSend), run: datagramsOf(verbs.OpSend)},
		{name: "DatagramsImm", rule: "so with a number", service: ud, ops: ops(verbs.OpSendImm), run: datagramsOf(verbs.OpSendImm)},
		{name: "DatagramOverMTU", rule: "a datagram over the MTU is refused, or makes a local length error, and does not come (IBTA 9.8.3.1)", service: ud, ops: ops(verbs.OpSend), run: overMTU},
		{name: "DatagramQKey", rule: "a datagram with a wrong Q_Key is dropped (IBTA 9.6.1.4)", service: ud, ops: ops(verbs.OpSend), run: wrongQKey},
		{name: "DatagramNoBuffer", rule: "a datagram without a buffer is dropped (IBTA 9.8.3.2)", service: ud, ops: ops(verbs.OpSend), run: noBuffer},
		{name: "DatagramPeers", rule: "one UD queue pair talks to many", service: ud, ops: ops(verbs.OpSend), run: manyPeers},
		{name: "DatagramAddress", rule: "an address that makes no sense is refused with ErrInvalid", service: ud, ops: ops(verbs.OpSend), run: badAddress},
		{name: "BlockLoopback", rule: "BlockLoopback keeps a sender's own copy from it only", service: ud, ops: ops(verbs.OpSend), feature: featureBlockLoopback, run: blockLoopback},
	}
}

func lifetimes() []test {
	return []test{
		{name: "States", rule: "a QP is in INIT, in RTS after Connect, and Modify goes where IBTA 10.3.1 lets it", run: states},
		{name: "BadEndpoint", rule: "Connect refuses words that make no sense with ErrInvalid, and leaves the QP as it was", run: badEndpoint},
		{name: "Recovery", rule: "a QP in error goes through Reset and Init to a new connection (IBTA 10.3.1)", run: recovery},
		{name: "Recreate", rule: "a QP in error is closed, and another one made", run: recreate},
		{name: "ResetForgets", rule: "Reset takes posted requests back without a completion (IBTA 10.3.1.1)", ops: ops(verbs.OpSend), run: resetForgets},
		{name: "Drain", rule: "in SQD what is posted waits, an event tells when what was begun is done (IBTA 10.3.1.5)", run: drain},
		{name: "SQE", rule: "of an unreliable connection only the send queue fails (IBTA 10.3.1.6)", service: verbs.UC, ops: ops(verbs.OpSend), run: sqe},
		{name: "UCDrops", rule: "UC drops a message without a buffer (IBTA 9.8.2.2)", service: verbs.UC, ops: ops(verbs.OpSend), run: ucDrops},
		{name: "Limits", rule: "what is beyond the device's limits is refused with ErrInvalid and the limit", run: limits},
		{name: "Ports", rule: "ports and GIDs are told, and those that are not there refused", run: ports},
		{name: "ErrorPeer", rule: "requests to a QP in error are not answered, and fail (IBTA 10.3.1.7)", run: errorPeer},
		{name: "GonePeer", rule: "requests to a closed QP fail", run: goneQP},
		{name: "CloseBusy", rule: "Close is idempotent, and gives ErrBusy as long as objects that were made of it are open", run: closeBusy},
		{name: "CloseBusySRQ", rule: "so for an SRQ", feature: featureSRQ, run: closeBusySRQ},
		{name: "AfterClose", rule: "calls on closed objects give ErrClosed", run: afterClose},
		{name: "ContextEnds", rule: "Event and Await end with their context, and with ErrClosed", run: contextEnds},
		{name: "AwaitEnds", rule: "Close of a context ends an Await", run: awaitEnds},
		{name: "InFlight", rule: "a QP may be closed with work under way, and its memory given back after that", run: inFlight},
		{name: "ClosedMR", rule: "an MR may be closed under requests of peers, which complete, well or refused", run: closedMRInFlight},
		{name: "ManyObjects", rule: "numbers and keys differ while their objects live", run: manyObjects},
	}
}

// cases are those that have a number; the first words of a name are it.
func cases() []test {
	ud := verbs.UD
	return []test{
		{name: "V1LateReceive", rule: "V1: a SEND waits for its buffer; RNR retries of 7 have no end (IBTA 9.7.5.2.8)", ops: ops(verbs.OpSend), run: lateReceive},
		{name: "V1Behind", rule: "V1: what is behind it waits as well, and comes in order", ops: ops(verbs.OpSend), promise: func(c *verbs.Caps) bool { return c.DeliveryOrder.Holds }, run: behindLate},
		{name: "V1NoReceive", rule: "V1: after 0 to 6 RNR retries it fails with RNR_RETRY_EXC_ERR", ops: ops(verbs.OpSend), run: noReceive(verbs.OpSend)},
		{name: "V1NoReceiveWriteImm", rule: "V1: so for a WRITE_WITH_IMM", ops: ops(verbs.OpWriteImm), run: noReceive(verbs.OpWriteImm)},
		{name: "V2Init", rule: "V2: receives may be posted in INIT", ops: ops(verbs.OpSend), run: recvInInit},
		{name: "V2Flush", rule: "V2: after an error each posted request completes once, in order, as flushed", run: flush},
		{name: "V2PostInError", rule: "V2: a post to a QP in error completes as flushed", run: postInError},
		{name: "V3", rule: "V3: the error of a list names the first request that was not posted", run: badInList},
		{name: "V4", rule: "V4: a CQ that overruns goes into error with its QPs, with an event; nothing is lost silently", run: overrun},
		{name: "V5", rule: "V5: a WRITE_WITH_IMM takes a receive without SGEs; byte_len is its length", ops: ops(verbs.OpWriteImm), run: sizesOf(verbs.RC, verbs.OpWriteImm)},
		{name: "V6", rule: "V6: of nothing, key and address are not checked; no SGE and an empty one are the same", run: zeroLength},
		{name: "V7", rule: "V7: inline data may be used again at once; beyond the limit the post fails with it", feature: featureInline, run: inline},
		{name: "V8FetchAdd", rule: "V8: an unaligned atomic is an invalid request; without key, right or place it is an access error", ops: ops(verbs.OpFetchAdd), run: accessOf(verbs.OpFetchAdd)},
		{name: "V8CompareSwap", rule: "V8: so for COMPARE_AND_SWAP", ops: ops(verbs.OpCompareSwap), run: accessOf(verbs.OpCompareSwap)},
		{name: "V9", rule: "V9: address and length that wrap 2^64 are refused", run: wrapping},
		{name: "V10Long", rule: "V10: a datagram longer than its buffer is dropped, and the QP stays up", service: ud, ops: ops(verbs.OpSend), run: longDatagram},
		{name: "V10Multicast", rule: "V10: all members of a group get a copy, its sender too", service: ud, ops: ops(verbs.OpSend), feature: featureMulticast, run: multicast},
		{name: "V11", rule: "V11: a GID that is not of the port is refused, and named; retries above 7 are refused", run: wrongGID},
		{name: "V12", rule: "V12: the path's MTU is the smaller of both ends'", run: pathMTU},
	}
}

// wrapping is case V9 for whichever operation there is, at both ends.
func wrapping(e *env) {
	for _, v := range violations() {
		if v.op == e.oneSided() && v.name == "wraps 2^64" {
			e.violate(&v)
		}
	}
}
