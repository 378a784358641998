//go:build linux && (amd64 || arm64)

package ibv

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// CreateAH makes an address.
func (p *pd) CreateAH(a verbs.AHAttr) (verbs.AH, error) {
	port := cmp.Or(a.Port, 1)
	wish := gidWish{gid: a.Source, kind: a.Type}
	if !a.Source.IsValid() && a.GID.IsValid() {
		wish.family = a.GID
	}
	raw := ibvAHAttr{Port: port, SL: uint8(a.SL), Rate: uint8(a.Rate), DLID: cmp.Or(uint16(a.MLID), uint16(a.LID))}
	err := p.life.use(func() error {
		from, attr, err := p.ctx.chooseGID(port, wish)
		if err != nil {
			return err
		}
		if attr.LinkLayer == verbs.LinkEthernet && !a.GID.IsValid() {
			return fmt.Errorf("an address on Ethernet without a GID: %w", verbs.ErrInvalid)
		}
		if a.GID.IsValid() {
			raw.Global = 1
			raw.GRH = ibvGRH{GID: a.GID, GIDIndex: uint8(from.Index), HopLimit: cmp.Or(a.HopLimit, hopLimit)}
		}
		return nil
	})
	if err != nil {
		return nil, p.ctx.failed("create AH", err)
	}
	h, err := p.createAH(&raw)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ResolveAH makes an address of a UD queue pair's endpoint, by port 1.
func (p *pd) ResolveAH(hello []byte) (verbs.AH, ib.QPN, ib.QKey, error) {
	to, err := verbs.ParseEndpoint(hello)
	if err == nil && to.Type != verbs.UD {
		err = fmt.Errorf("the peer is of service %v: %w", to.Type, verbs.ErrInvalid)
	}
	if err != nil {
		return nil, 0, 0, p.ctx.failed("resolve AH", err)
	}
	attr := verbs.AHAttr{LID: to.LID}
	if to.Link == verbs.LinkEthernet || to.LID == 0 {
		attr.GID, attr.Type = to.GID, to.GIDType
	}
	h, err := p.CreateAH(attr)
	return h, to.QPN, to.QKey, err
}

// Attach joins a group. On Ethernet the interface joins the IP group as well, or
// it would not let the packets in.
func (q *qp) Attach(group ib.MGID, lid ib.MLID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.groups[group]; ok {
		return nil
	}
	err := q.life.use(func() error {
		conn, err := q.joinIP(group)
		if err != nil {
			return err
		}
		err = q.mcast(q.ctx.lib.attachMcast, group, lid)
		if err != nil && conn != nil {
			return errors.Join(err, conn.Close())
		}
		if err == nil {
			q.groups[group] = membership{lid, conn}
		}
		return err
	})
	return q.failed("attach to "+group.GID().String(), err)
}

// Detach leaves a group.
func (q *qp) Detach(group ib.MGID, lid ib.MLID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.life.use(func() error {
		if err := q.mcast(q.ctx.lib.detachMcast, group, lid); err != nil {
			return err
		}
		m := q.groups[group]
		delete(q.groups, group)
		return m.leaveIP()
	})
	return q.failed("detach from "+group.GID().String(), err)
}

func (q *qp) mcast(fn uintptr, group ib.MGID, lid ib.MLID) error {
	raw := new(ib.MGID)
	*raw = group
	return failure(invoke(q.ctx.lib, fn, ptr(q.c), uintptr(unsafe.Pointer(raw)), uintptr(lid)))
}

// joinIP has the network interface of a RoCE v2 port join the IP group that a
// GID stands for.
func (q *qp) joinIP(group ib.MGID) (net.PacketConn, error) {
	if q.gid.Type != verbs.GIDRoCEv2 || q.gid.Device == "" {
		return nil, nil //nolint:nilnil // there is no IP group
	}
	ip := netip.AddrFrom16(group).Unmap()
	if !ip.IsMulticast() {
		return nil, fmt.Errorf("%v is no multicast address: %w", ip, verbs.ErrInvalid)
	}
	device, err := net.InterfaceByName(q.gid.Device)
	if err != nil {
		return nil, err
	}
	network := "udp6"
	if ip.Is4() {
		network = "udp4"
	}
	conn, err := net.ListenMulticastUDP(network, device, &net.UDPAddr{IP: ip.AsSlice()})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// membership is that of a QP in a group.
type membership struct {
	lid ib.MLID
	ip  net.PacketConn // which is a member of the IP group; nil where there is none
}

func (m membership) leaveIP() error {
	if m.ip == nil {
		return nil
	}
	return m.ip.Close()
}

// leaveAll leaves the groups of a QP that is closed: the kernel does not destroy
// a QP that is attached to one.
func (q *qp) leaveAll() (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for group, m := range q.groups {
		err = errors.Join(err, q.mcast(q.ctx.lib.detachMcast, group, m.lid), m.leaveIP())
	}
	clear(q.groups)
	return err
}
