package emu

import (
	"fmt"

	"heddle/fabric"
	"heddle/ib"
)

// Host is what sends and gets data packets at an end port: a channel adapter,
// as its link sees it. Its methods belong to the goroutine of its Subnet; Live
// has Port for other goroutines.
type Host struct {
	subnet *Subnet
	end    fabric.End
	opts   HostOptions
}

// HostOptions is how a Host attaches.
type HostOptions struct {
	// Receive takes a packet, as it was sent, which it must not keep. It runs
	// within the Subnet's methods, of which it may call Host.Send and Now only:
	// what it sends leaves after it returned.
	Receive func(b []byte)
	// Gbps is how fast the host takes packets out of the port's buffer, in
	// gigabits per second, where Config.Wire is set; 0 is as fast as they come.
	// A host that is slower than its link keeps the network waiting.
	Gbps float64
}

// AttachHost puts a host at a port: one of an adapter, or port 0 of a switch.
// A port has one; the error of a second wraps ErrTaken.
func (s *Subnet) AttachHost(at fabric.End, o HostOptions) (*Host, error) {
	if !s.has(at) || !s.addressed(at) {
		return nil, fmt.Errorf("host at port %d of node %d: %w", at.Port, at.Node, ErrNoNode)
	}
	x := s.portOf(at)
	if x.host != nil {
		return nil, fmt.Errorf("host at %s: %w", s.fabric.EndLabel(at), ErrTaken)
	}
	x.host = &Host{subnet: s, end: at, opts: o}
	return x.host, nil
}

// Detach ends the host. What comes for it from then on is lost.
func (h *Host) Detach() {
	if x := h.subnet.portOf(h.end); x.host == h {
		x.host = nil
	}
}

// End is where the host is.
func (h *Host) End() fabric.End { return h.end }

// Send sends a packet: the bytes from the LRH on, with the VCRC or without. It
// keeps nothing of them. LRH:VL is not looked at: SL2VLMapping says it. An
// error tells that the bytes are no packet that an adapter could send; what
// becomes of those that are is counted.
func (h *Host) Send(b []byte) error {
	s := h.subnet
	head, err := parseHeader(b)
	if err != nil {
		return err
	}
	if head.dlid == ib.PermissiveLID || head.dlid == 0 {
		return fmt.Errorf("packet for LID %#x, which is for subnet management only: %w", uint16(head.dlid), ErrPacket)
	}
	if most := s.cfg.MTU.Bytes() + mostHeaders; int(head.words)*4 > most {
		return fmt.Errorf("packet of %d bytes, the ports take %d: %w", head.words*4, most, ErrPacket)
	}
	s.data.stats.Sent++
	if !s.nodes[h.end.Node].up {
		s.lost(s.portOf(h.end), LossDown, true)
		return nil
	}
	s.data.send(h.end, b, head)
	return nil
}

// mostHeaders is how much longer than the MTU a packet can be without its VCRC
// (IBTA 1, 7.7.8).
const mostHeaders = 124

// deliver gives a packet to the host at a port.
func (s *Subnet) deliver(x *port, b []byte) {
	if x.host == nil || x.host.opts.Receive == nil {
		s.data.stats.Lost[LossUnclaimed]++
		return
	}
	s.data.stats.Delivered++
	x.host.opts.Receive(b)
}
