package partition

import (
	"fmt"
	"net/netip"

	"heddle/ib"
)

// wish is a group that the file asks for.
type wish struct {
	mgid   ib.MGID // zero for the broadcast group of IP over InfiniBand
	params params
	at     place
}

func (w wish) isBroadcast() bool { return w.mgid == ib.MGID{} || w.mgid.IsBroadcast() }

// grouper makes the groups that are asked for.
type grouper struct {
	*builder
	list []Group
	made map[ib.MGID]Group
}

// partition makes those of a partition, the broadcast groups first, since the
// other groups of IP follow them.
func (g *grouper) partition(base uint16) {
	for _, broadcasts := range []bool{true, false} {
		for _, w := range g.asked[base] {
			if w.isBroadcast() == broadcasts {
				g.wish(w, base)
			}
		}
	}
}

// wish makes a group in each of its scopes.
func (g *grouper) wish(w wish, base uint16) {
	if w.mgid == (ib.MGID{}) {
		w.params.scopes |= 1 << ib.ScopeLinkLocal
	}
	for scope := range w.params.each {
		if err := g.add(w, scope, base); err != nil {
			g.report(w.at, "%v", err)
		}
	}
}

func (g *grouper) add(w wish, scope ib.Scope, base uint16) error {
	mgid, err := w.address(scope, base)
	if err != nil {
		return err
	}
	if mgid.IsIPoIB() && !mgid.IsBroadcast() {
		if err := g.follow(&w.params, mgid, base); err != nil {
			return err
		}
	}
	group := w.params.group(mgid, base)
	old, ok := g.made[mgid]
	switch {
	case !ok:
		g.made[mgid] = group
		g.list = append(g.list, group)
	case old != group:
		return fmt.Errorf("group %v is defined before, with other parameters, which it keeps", mgid)
	}
	return nil
}

// address is that of the group in a scope, with the P_Key in it that IP over
// InfiniBand wants.
func (w wish) address(scope ib.Scope, base uint16) (ib.MGID, error) {
	if w.mgid == (ib.MGID{}) {
		return broadcastOf(scope, base)
	}
	mgid := w.mgid
	mgid[1] = mgid[1]&0xF0 | byte(scope)
	if !mgid.IsIPoIB() {
		return mgid, nil
	}
	if in := mgid.PKey(); in != 0 && in.Base() != base {
		return ib.MGID{}, fmt.Errorf("group %v has a P_Key in its address that is not the partition's %v: it is left out", w.mgid, fullOf(base))
	}
	mgid[4], mgid[5] = byte(fullOf(base)>>8), byte(base)
	return mgid, nil
}

func broadcastOf(scope ib.Scope, base uint16) (ib.MGID, error) {
	return ib.IPoIBMGID(scope, fullOf(base), netip.AddrFrom4([4]byte{255, 255, 255, 255}))
}

// follow lets a group of IP have the MTU and the rate of its broadcast group.
func (g *grouper) follow(p *params, mgid ib.MGID, base uint16) error {
	address, err := broadcastOf(mgid.Scope(), base)
	if err != nil {
		return err
	}
	broadcast, ok := g.made[address]
	if !ok {
		return fmt.Errorf("group %v is of IP, and the partition has no broadcast group %v (ipoib): it is left out", mgid, address)
	}
	if p.mtu != 0 && p.mtu != broadcast.MTU || p.rate != 0 && p.rate != broadcast.Rate {
		return fmt.Errorf("group %v is of IP, and its MTU or rate is not that of the broadcast group, %v bytes and %v: it is left out",
			mgid, broadcast.MTU, broadcast.Rate)
	}
	p.mtu, p.rate = broadcast.MTU, broadcast.Rate
	return nil
}
