package verbs

import "heddle/ib"

// Path is where packets leave by to get to an address, as a connection manager
// found it. A QP goes by it whose QPAttr names the same.
type Path struct {
	Device string
	Port   uint8
	GID    ib.GID
	PKey   ib.PKey // 0 is the first of the port's, as on Ethernet
	SL     ib.SL
}

// CMAttr is what a connection manager tells a QP on its way to RTS, in the words
// of IBTA volume 1, 12.9.
type CMAttr struct {
	DestQPN          ib.QPN
	RecvPSN, SendPSN uint32
	MTU              ib.MTU
	Port             uint8
	// Address of the peer.
	DLID      ib.LID
	SL        ib.SL
	PathBits  uint8
	Rate      ib.Rate
	Global    bool // it has a GRH, of which the rest tells
	GID       ib.GID
	GIDIndex  uint8 // of the port's table, that packets leave by
	FlowLabel uint32
	HopLimit  uint8
	Class     uint8
	// ReadsIn and ReadsOut are how many READs are under way each way, Timeout is
	// the code of IBTA 9.7.6.
	ReadsIn, ReadsOut, Timeout, Retries, RNRRetries uint8
}

// CMConnector is a QP of a service with a peer that a connection manager can
// connect. ConnectCM does what Connect does else.
type CMConnector interface {
	ConnectCM(a *CMAttr) error
}
