package channel

import "heddle/verbs"

// Kinds lists all kinds, in the order of the table. A new one is a line here.
func Kinds() []*Kind {
	return []*Kind{
		&ringBell,
	}
}

var ringBell = Kind{
	Number: 8, Name: "ring-bell", Title: "Ring inlined bell w/o zeroing", Family: WriteRing, Source: Paper,
	Features: Features{
		HRT: 1, SendRequests: 1, CopySend: WithGather, Variable: true, Memory: RingEach, PassiveReceiver: true,
	},
	Needs:  Needs{Ops: verbs.OpsOf(verbs.OpWrite), Room: verbs.OpsOf(verbs.OpRead), Orders: []Order{BellLast}},
	sender: newRingBellSender, receiver: newRingBellReceiver,
}
