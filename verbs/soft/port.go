package soft

import "heddle/ib"

// Port is a port of an InfiniBand subnet that takes and gives whole packets, from
// LRH to VCRC, as a channel adapter has them on its link. What an emulated subnet
// offers to the devices of this package is one; a Link is made of it. Its methods
// may be called by any goroutine.
type Port interface {
	GUID() ib.GUID
	// Address is what a subnet manager has set: LID and LMC, the LID of the
	// manager, the prefix of GIDs. Active is false as long as no data may be sent.
	Address() (lid ib.LID, lmc uint8, sm ib.LID, prefix uint64, active bool)
	// MTU and Rate are those of the link.
	MTU() ib.MTU
	Rate() ib.LinkRate
	// PKeys is the table of P_Keys, with entries that are invalid.
	PKeys() []ib.PKey
	// Transmit sends packets, in order. It keeps nothing of them and does not
	// wait: where the network has no room for so long that an adapter would drop
	// them, they are lost. The VCRC is right, and has to be made anew by who
	// changes the LRH on the way, or may be left as it is: it is not looked at in
	// what comes.
	Transmit(packets [][]byte)
	// Receive has f called with packets that come to the port, of all LIDs and
	// groups that the tables of the subnet lead here, except those of QP 0 and 1.
	// They are the port's again when f returns. F is called by one goroutine at a
	// time, and may call Transmit; it may be set once, nil ends it and waits for
	// a call under way.
	Receive(f func(packets [][]byte))
}
