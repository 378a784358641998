package channel

import "heddle/verbs"

// Kinds lists all kinds, in the order of the table. A new one is a line here.
func Kinds() []*Kind {
	return []*Kind{
		&sendRecv,
		&sendShared,
		&slotBell,
		&slotFlag,
		&slotImm,
		&slotSend,
		&ringZero,
		&ringBell,
		&ringFlag,
		&ringImm,
		&ringSend,
		&sharedBell,
		&sharedFlag,
		&sharedImm,
		&fetchBell,
		&fetchFlag,
		&fetchSend,
		&castBell,
		&castFlag,
		&castSend,
		&ringCell,
		&sharedCell,
	}
}

var sendRecv = Kind{
	Number: 1, Name: "send", Title: "Send/Recv", Family: SendRecv, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, RecvRequests: 1, Blocking: true, CopySend: NoCopy, Memory: SlotsEach, Immediate: true,
		AsDelivered: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpSend), Imm: verbs.OpSendImm},
	sender: newSendSender, receiver: newSendReceiver,
}

var sendShared = Kind{
	Number: 2, Name: "send-shared", Title: "Shared Send/Recv", Family: SendRecv, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, RecvRequests: 1, Blocking: true, CopySend: NoCopy, Memory: SlotsShared, Immediate: true,
		AsDelivered: true, Senders: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpSend), SRQ: true, Imm: verbs.OpSendImm},
	sender: newSharedSendSender, receiver: newSharedReceiver,
}

var slotBell = Kind{
	Number: 3, Name: "slot-bell", Title: "Write slot inlined bell", Family: WriteSlot, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, CopySend: WithGather, CopyRecv: NoCopy, Memory: SlotsEach, PassiveReceiver: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellLast}},
	sender: newSlotBellSender, receiver: newSlotBellReceiver,
}

var slotFlag = Kind{
	Number: 4, Name: "slot-flag", Title: "Write slot separate bell", Family: WriteSlot, Source: Reconstruction,
	Features: Features{
		HRT: 1, SendRequests: 2, CopySend: NoCopy, CopyRecv: NoCopy, Memory: SlotsEach, PassiveReceiver: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{PlacementOrder}},
	sender: newSlotFlagSender, receiver: newSlotFlagReceiver,
}

var slotImm = Kind{
	Number: 5, Name: "slot-imm", Title: "Write slot IMM", Family: WriteSlot, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, RecvRequests: 1, Blocking: true, CopySend: NoCopy, CopyRecv: NoCopy, Memory: SlotsEach,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWriteImm), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newSlotImmSender, receiver: newSlotImmReceiver,
}

var slotSend = Kind{
	Number: 6, Name: "slot-send", Title: "Write slot + SEND", Family: WriteSlot, Source: Reconstruction,
	Features: Features{
		HRT: 1, SendRequests: 2, RecvRequests: 1, Blocking: true, CopySend: NoCopy, CopyRecv: NoCopy, Memory: SlotsEach,
		Immediate: true,
	},
	Needs: Needs{
		Ops: verbs.OpsOf(verbs.OpWrite, verbs.OpSend), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{CompletionOrder},
	},
	sender: newSlotSendSender, receiver: newSlotSendReceiver,
}

var ringZero = Kind{
	Number: 7, Name: "ring-zero", Title: "Ring inlined bell (receiver zeroes)", Family: WriteRing, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, CopySend: WithGather, Variable: true, Memory: RingEach, PassiveReceiver: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellLast}},
	sender: newRingZeroSender, receiver: newRingZeroReceiver,
}

var ringBell = Kind{
	Number: 8, Name: "ring-bell", Title: "Ring inlined bell w/o zeroing", Family: WriteRing, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, CopySend: WithGather, Variable: true, Memory: RingEach, PassiveReceiver: true,
	},
	Needs: Needs{
		Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellLast, PlacementOrder},
	},
	sender: newRingBellSender, receiver: newRingBellReceiver,
}

var ringFlag = Kind{
	Number: 9, Name: "ring-flag", Title: "Ring separate bell", Family: WriteRing, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 2, CopySend: WithGather, Variable: true, Memory: RingEach, PassiveReceiver: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{PlacementOrder}},
	sender: newRingFlagSender, receiver: newRingFlagReceiver,
}

var ringImm = Kind{
	Number: 10, Name: "ring-imm", Title: "Ring IMM", Family: WriteRing, Source: Thesis,
	Features: Features{
		HRT: 1, SendRequests: 1, RecvRequests: 1, Blocking: true, CopySend: NoCopy, Variable: true, Memory: RingEach,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWriteImm), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newRingImmSender, receiver: newRingImmReceiver,
}

var ringSend = Kind{
	Number: 11, Name: "ring-send", Title: "Ring + SEND", Family: WriteRing, Source: Reconstruction,
	Features: Features{
		HRT: 1, SendRequests: 2, RecvRequests: 1, Blocking: true, CopySend: NoCopy, Variable: true, Memory: RingEach,
	},
	Needs: Needs{
		Ops: verbs.OpsOf(verbs.OpWrite, verbs.OpSend), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{CompletionOrder},
	},
	sender: newRingSendSender, receiver: newRingSendReceiver,
}

var sharedBell = Kind{
	Number: 12, Name: "shared-bell", Title: "Shared ring inlined bell", Family: SharedRing, Source: Reconstruction,
	Features: Features{
		HRT: 3, SendRequests: 2, CopySend: WithGather, Variable: true, Memory: RingShared, PassiveReceiver: true, Senders: true,
	},
	Needs: Needs{
		Ops: verbs.OpsOf(verbs.OpWrite, verbs.OpFetchAdd), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellLast},
	},
	sender: newSharedBellSender, receiver: newSharedBellReceiver,
}

var sharedFlag = Kind{
	Number: 13, Name: "shared-flag", Title: "Shared ring separate bell", Family: SharedRing, Source: Reconstruction,
	Features: Features{
		HRT: 3, SendRequests: 3, CopySend: WithGather, Variable: true, Memory: RingShared, PassiveReceiver: true, Senders: true,
	},
	Needs: Needs{
		Ops: verbs.OpsOf(verbs.OpWrite, verbs.OpFetchAdd), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{PlacementOrder},
	},
	sender: newSharedFlagSender, receiver: newSharedFlagReceiver,
}

var sharedImm = Kind{
	Number: 14, Name: "shared-imm", Title: "Shared ring IMM", Family: SharedRing, Source: Thesis,
	Features: Features{
		HRT: 3, SendRequests: 2, RecvRequests: 1, Blocking: true, CopySend: WithGather, Variable: true, Memory: RingShared,
		Senders: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWriteImm, verbs.OpFetchAdd), Room: verbs.OpsOf(verbs.OpRead), SRQ: true},
	sender: newSharedImmSender, receiver: newSharedImmReceiver,
}

var ringCell = Kind{
	Number: 21, Name: "ring-cell", Title: "Ring of tagged cells", Family: CellRing, Source: Own,
	Features: Features{
		HRT: 1, SendRequests: 1, Copying: true, Variable: true, Memory: RingEach, PassiveReceiver: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newRingCellSender, receiver: newRingCellReceiver,
}

var sharedCell = Kind{
	Number: 22, Name: "shared-cell", Title: "Shared ring of tagged cells", Family: CellRing, Source: Own,
	Features: Features{
		HRT: 3, SendRequests: 2, Copying: true, Variable: true, Memory: RingShared, PassiveReceiver: true, Senders: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite, verbs.OpFetchAdd), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newSharedCellSender, receiver: newSharedCellReceiver,
}

var fetchBell = Kind{
	Number: 15, Name: "fetch-bell", Title: "Read slot inlined bell", Family: ReadSlot, Source: Paper,
	Features: Features{
		HRT: 2, RecvRequests: 1, CopySend: InPlace, CopyRecv: NoCopy, Memory: ReaderChoice, PassiveSender: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpRead), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellFirst}},
	sender: newFetchBellSender, receiver: newFetchBellReader,
}

var fetchFlag = Kind{
	Number: 16, Name: "fetch-flag", Title: "Read slot separate bell", Family: ReadSlot, Source: Reconstruction,
	Features: Features{
		HRT: 4, RecvRequests: 2, CopySend: NoCopy, CopyRecv: NoCopy, Memory: ReaderChoice, PassiveSender: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpRead), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newFetchFlagSender, receiver: newFetchFlagReader,
}

var fetchSend = Kind{
	Number: 17, Name: "fetch-send", Title: "Read slot + notify", Family: ReadSlot, Source: Thesis,
	Features: Features{
		HRT: 3, SendRequests: 1, RecvRequests: 2, Blocking: true, CopySend: NoCopy, CopyRecv: NoCopy, Memory: ReaderChoice,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpRead, verbs.OpSend), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newFetchSendSender, receiver: newFetchSendReader,
}

var castBell = Kind{
	Number: 18, Name: "cast-bell", Title: "Read ring inlined bell", Family: ReadRing, Source: Reconstruction,
	Features: Features{
		HRT: 2, RecvRequests: 1, Batches: true, CopySend: InPlace, Variable: true, Memory: ReaderChoice,
		PassiveSender: true, Readers: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpRead), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellFirst}},
	sender: newCastBellSender, receiver: newCastBellReader,
}

var castFlag = Kind{
	Number: 19, Name: "cast-flag", Title: "Read ring separate bell", Family: ReadRing, Source: Thesis,
	Features: Features{
		HRT: 4, RecvRequests: 2, Batches: true, CopySend: InPlace, Variable: true, Memory: ReaderChoice,
		PassiveSender: true, Readers: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpRead), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newCastFlagSender, receiver: newCastFlagReader,
}

var castSend = Kind{
	Number: 20, Name: "cast-send", Title: "Read ring + notify", Family: ReadRing, Source: Reconstruction,
	Features: Features{
		HRT: 3, SendRequests: 1, RecvRequests: 2, Blocking: true, CopySend: InPlace, Variable: true, Memory: ReaderChoice,
		Readers: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpRead, verbs.OpSend), Room: verbs.OpsOf(verbs.OpRead)},
	sender: newCastSendSender, receiver: newCastSendReader,
}
