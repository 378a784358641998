package opensm

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
)

// WriteSubnetLst writes what OpenSM dumps after each sweep: a line for each end
// of each link, in the order of the nodes' GUIDs (OpenSM's is that of the GUIDs'
// bytes, the last one first, on most machines).
func WriteSubnetLst(w io.Writer, v *subnet.View) error {
	b := bufio.NewWriter(w)
	for _, n := range v.Nodes {
		for i := range n.Ports {
			number := uint8(i)
			if peer, peerNumber, ok := n.Peer(number); ok {
				writeEnd(b, v, n, number, 6)
				writeEnd(b, v, peer, peerNumber, 8)
				writeLink(b, &n.Ports[i])
			}
		}
	}
	return b.Flush()
}

// writeEnd writes one end. OpenSM writes the vendor's 24 bits with 6 digits at
// the near end of a line, and with 8 at the far one.
func writeEnd(b *bufio.Writer, v *subnet.View, n *subnet.Node, number uint8, vendorDigits int) {
	addressed := number
	kind := "CA"
	switch n.Info.NodeType {
	case mad.NodeSwitch:
		kind, addressed = "SW", 0
	case mad.NodeRouter:
		kind = "RT"
	case mad.NodeCA:
	}
	port := &n.Ports[addressed]
	if v.Own.Node == n.ID || port.Info.CapabilityMask&mad.CapIsSM != 0 {
		kind += "-SM"
	}
	name := strings.ReplaceAll(strings.Map(printable, n.Description), "} LID:", ") LID:")
	fmt.Fprintf(b, "{ %s Ports:%02X SystemGUID:%016x NodeGUID:%016x PortGUID:%016x VenID:%0*X DevID:%04X Rev:%08X {%s} LID:%04X PN:%02X } ",
		kind, n.Info.NumPorts, uint64(n.Info.SystemImageGUID), uint64(n.GUID()), uint64(port.GUID),
		vendorDigits, n.Info.VendorID, n.Info.DeviceID, n.Info.Revision, name, uint16(port.Info.LID), number)
}

// printable keeps a description on its line.
func printable(r rune) rune {
	if r < ' ' || r == 0x7F {
		return '?'
	}
	return r
}

func writeLink(b *bufio.Writer, p *subnet.Port) {
	rate := p.Rate()
	width, speed := "??", "??"
	if rate.Width != 0 {
		width = rate.Width.String()
	}
	switch {
	case rate.Speed == ib.FDR10: // whose number is that of QDR
		speed = rate.Speed.String()
	case rate.Speed != 0:
		speed = strconv.FormatFloat(rate.Speed.LaneGbps(), 'f', -1, 64)
	}
	fmt.Fprintf(b, "PHY=%s LOG=%s SPD=%s\n", width, stateWord(p.Info.PortState), speed)
}

func stateWord(s mad.PortState) string {
	switch s {
	case mad.PortInit:
		return "INI"
	case mad.PortArmed:
		return "ARM"
	case mad.PortActive:
		return "ACT"
	case mad.PortNoChange, mad.PortDown:
	}
	return "DWN"
}
