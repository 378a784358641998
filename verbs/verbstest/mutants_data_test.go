package verbstest

import (
	"slices"

	"heddle/verbs"
	"heddle/verbs/sim"
)

func brokenData() []mutant {
	source := func(wr *verbs.SendWR) uint64 { return wr.SGEs[0].Addr }
	return []mutant{
		{name: "flips a byte of a WRITE", fault: spoils(verbs.OpWrite, func(wr *verbs.SendWR) uint64 { return wr.RemoteAddr }), tests: must("SizesWrite", "ListsWrite", "BothWays", "ReadAfterWrite")},
		{name: "writes a byte too much", fault: spoils(verbs.OpWrite, func(wr *verbs.SendWR) uint64 { return wr.RemoteAddr + uint64(wr.Length()) }), tests: must("SizesWrite")},
		{name: "writes a byte before the place", fault: spoils(verbs.OpWriteImm, func(wr *verbs.SendWR) uint64 { return wr.RemoteAddr - 1 }), tests: must("V5")},
		{name: "flips a byte of a READ", fault: spoils(verbs.OpRead, source), tests: must("SizesRead", "ListsRead", "ReadAfterWrite")},
		{name: "changes the source", fault: spoils(verbs.OpSend, source), tests: must("SizesSend")},
		{name: "adds to the wrong value", fault: post(func(_ *world, wr *verbs.SendWR) { wr.Swap++ }), tests: must("FetchAdd", "CompareSwap", "Counting")},
		{name: "compares nothing", fault: fault{send: compareNothing}, tests: must("CompareSwap")},
		{name: "gives another old value", fault: spoils(verbs.OpFetchAdd, source), tests: must("FetchAdd")},
		{name: "sends the SGEs in another order", fault: post(func(_ *world, wr *verbs.SendWR) {
			wr.SGEs = slices.Clone(wr.SGEs)
			slices.Reverse(wr.SGEs)
		}), tests: must("ListsSend", "ListsWrite", "ListsRead")},
		{name: "flips a byte of what UC carries", fault: post(func(w *world, wr *verbs.SendWR) {
			if len(wr.SGEs) == 1 && wr.SGEs[0].Length > 0 {
				w.spoil(wr.SGEs[0].Addr)
			}
		}), tests: must("SizesSendUC", "SizesWriteUC", "SizesWriteImmUC")},
		{name: "takes messages that are too long", profile: sim.EFA, fault: post(func(_ *world, wr *verbs.SendWR) {
			if wr.Length() > 4096 {
				wr.SGEs = []verbs.SGE{wr.SGEs[0]}
				wr.SGEs[0].Length = 4096
			}
		}), tests: must("TooLong")},
		{name: "swaps the bytes of an immediate", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.Imm = swap(wc.Imm); return true }), tests: must("ImmediateSend", "ImmediateWrite", "SizesSendImm")},
		{name: "forgets the immediate", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.Flags &^= verbs.WithImm; return true }), tests: must("ImmediateSend", "ImmediateWrite", "DatagramsImm")},
		{name: "counts another length", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.ByteLen++; return true }), tests: must("SizesSend", "V5", "ShortMessages", "Datagrams")},
		{name: "counts the length of the buffer", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.ByteLen = max(wc.ByteLen, 64); return true }), tests: must("ShortMessages")},
		{name: "needs a key for nothing", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if wr.Length() == 0 && q.f.world.of(wr.RKey) == nil {
				return verbs.ErrInvalid
			}
			return q.QP.PostSend(wr)
		}}, tests: must("V6")},
	}
}

// compareNothing swaps whatever is there.
func compareNothing(q *brokenQP, wr *verbs.SendWR) error {
	changed := *wr
	if mr := q.f.world.of(wr.RKey); wr.Op == verbs.OpCompareSwap && mr != nil {
		r := &region{MR: mr}
		changed.Compare = r.word(int(wr.RemoteAddr - mr.Addr()))
	}
	return q.QP.PostSend(&changed)
}

// claims makes a device that promises what it does not keep.
func claims(name string, profile func() sim.Profile, change func(*verbs.Caps), tests ...string) mutant {
	return mutant{name: "claims " + name, profile: profile, fault: fault{caps: change}, tests: tests}
}

func brokenOrder() []mutant {
	ascending := verbs.ByteOrder{Chunk: verbs.AllBytes, Origin: verbs.Probed}
	return []mutant{
		claims("ascending bytes on adaptive routing", sim.AdaptiveRouting, func(c *verbs.Caps) { c.WriteOrder = ascending }, "WriteOrder"),
		claims("a last word on adaptive routing", sim.AdaptiveRouting, func(c *verbs.Caps) { c.WriteOrder = verbs.ByteOrder{Chunk: 1, Last: 8} }, "WriteOrder"),
		claims("ascending bytes behind a relaxed bus", sim.RelaxedDMA, func(c *verbs.Caps) { c.WriteOrder = ascending }, "WriteOrder"),
		claims("chunks of 128 bytes behind a relaxed bus", sim.RelaxedDMA, func(c *verbs.Caps) { c.WriteOrder.Chunk = 128 }, "WriteOrder"),
		claims("chunks of 256 bytes on EFA", sim.EFA, func(c *verbs.Caps) { c.WriteOrder.Chunk = 256 }, "WriteOrder"),
		claims("ascending fetches on adaptive routing", sim.AdaptiveRouting, func(c *verbs.Caps) { c.FetchOrder = ascending }, "FetchOrder"),
		claims("placement order on adaptive routing", sim.AdaptiveRouting, func(c *verbs.Caps) { c.PlacementOrder.Holds = true }, "PlacementOrder"),
		claims("completion order on EFA", sim.EFA, func(c *verbs.Caps) { c.CompletionOrder.Holds = true }, "CompletionOrderSend", "CompletionOrderWriteImm"),
		claims("delivery order on EFA", sim.EFA, func(c *verbs.Caps) { c.DeliveryOrder.Holds = true }, "DeliveryOrder"),
		claims("immediates on iWARP", sim.IWARP, func(c *verbs.Caps) { c.Ops[verbs.RC] |= verbs.OpsOf(verbs.OpSendImm, verbs.OpWriteImm) }, "ImmediateSend", "V5"),
		claims("no WRITE", nil, func(c *verbs.Caps) { c.Ops[verbs.RC] &^= verbs.OpsOf(verbs.OpWrite) }, "SizesWrite"),
		claims("no UD", nil, func(c *verbs.Caps) { c.Ops[verbs.UD] = 0 }, "Datagrams"),
		claims("no SRQ", nil, func(c *verbs.Caps) { c.SRQ = false }, "SRQShared"),
		claims("no multicast", nil, func(c *verbs.Caps) { c.Multicast = false }, "V10Multicast"),
		claims("no BlockLoopback", nil, func(c *verbs.Caps) { c.BlockLoopback = false }, "BlockLoopback"),
		claims("no windows", nil, func(c *verbs.Caps) { c.Windows1, c.Windows2 = false, false }, "Windows", "Window1Shared"),
		claims("no device memory", nil, func(c *verbs.Caps) { c.DeviceMemory = false }, "DeviceMemory"),
		claims("windows on EFA", sim.EFA, func(c *verbs.Caps) {
			c.Windows2 = true
			c.Ops[verbs.RC] |= verbs.OpsOf(verbs.OpBind, verbs.OpLocalInv)
		}, "Windows"),
		claims("no inline data", nil, func(c *verbs.Caps) { c.MaxInline = 0 }, "V7"),
		{name: "ignores the fence", fault: post(func(_ *world, wr *verbs.SendWR) { wr.Flags &^= verbs.Fence }), tests: must("Fence")},
		{name: "has WRITEs overtake each other", fault: fault{sends: func(q *brokenQP, wrs []verbs.SendWR) (int, error) {
			turned := slices.Clone(wrs)
			slices.Reverse(turned)
			for i := range turned {
				turned[i].Flags = wrs[i].Flags
			}
			return q.QP.PostSends(turned)
		}}, tests: must("PlacementOrder", "CompletionOrderSend", "CompletionOrderWriteImm", "V3")},
		{name: "sends by another QP", fault: fault{send: sendByAnother}, tests: must("SRQShared", "Traffic")},
	}
}

// sendByAnother takes a QP that was made earlier and is connected.
func sendByAnother(q *brokenQP, wr *verbs.SendWR) error {
	for _, other := range q.f.world.qps {
		if s, _ := other.QP.State(); s == verbs.RTS && other.Type() == q.Type() {
			return other.QP.PostSend(wr)
		}
	}
	return q.QP.PostSend(wr)
}
