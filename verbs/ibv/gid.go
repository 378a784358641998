package ibv

import (
	"fmt"
	"net/netip"
	"strings"

	"heddle/ib"
	"heddle/verbs"
)

// gidWish is which entry of a GID table is looked for; what is zero is free.
type gidWish struct {
	gid    ib.GID
	kind   verbs.GIDType
	family ib.GID // a peer that the entry must be of the same family as
}

// chooseGID gives the entry of a port's table that fits best (case V11): one
// that was asked for, or the one that packets get furthest with.
func chooseGID(table []verbs.GIDEntry, link verbs.LinkLayer, wish gidWish) (verbs.GIDEntry, error) {
	best, found := verbs.GIDEntry{}, false
	for _, e := range table {
		if !wish.fits(e) {
			continue
		}
		if !found || reach(link, e) > reach(link, best) {
			best, found = e, true
		}
	}
	if !found {
		return best, wish.refusal(table)
	}
	return best, nil
}

func (w gidWish) fits(e verbs.GIDEntry) bool {
	return (!w.gid.IsValid() || e.GID == w.gid) &&
		(w.kind == verbs.GIDAny || e.Type == w.kind) &&
		(!w.family.IsValid() || e.Type != verbs.GIDRoCEv2 || isIPv4(e.GID) == isIPv4(w.family))
}

// reach ranks entries; among equals the first one counts.
func reach(link verbs.LinkLayer, e verbs.GIDEntry) int {
	if link != verbs.LinkEthernet {
		return 0
	}
	rank := int(e.Type) * 4
	switch {
	case isIPv4(e.GID):
		return rank + 2
	case !e.GID.IsLinkLocal():
		return rank + 1
	}
	return rank
}

// refusal says what was looked for, and what there is.
func (w gidWish) refusal(table []verbs.GIDEntry) error {
	var b strings.Builder
	b.WriteString("no GID")
	if w.gid.IsValid() {
		fmt.Fprintf(&b, " %v", w.gid)
	}
	if w.kind != verbs.GIDAny {
		fmt.Fprintf(&b, " of type %v", w.kind)
	}
	if w.family.IsValid() {
		fmt.Fprintf(&b, " from which %v can be reached", w.family)
	}
	b.WriteString(" in the port's table, which has ")
	for i, e := range table {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d: %v (%v)", e.Index, e.GID, e.Type)
	}
	if len(table) == 0 {
		b.WriteString("none")
	}
	return fmt.Errorf("%s: %w", b.String(), verbs.ErrNotFound)
}

// isIPv4 tells whether a GID is an IPv4 address.
func isIPv4(g ib.GID) bool { return netip.AddrFrom16(g).Is4In6() }

// rocePort is the UDP port that adapters send RoCEv2 to.
const rocePort = 4791

// reachable refuses a peer that packets from a GID cannot get to.
func reachable(link verbs.LinkLayer, from verbs.GIDEntry, to *verbs.EndpointAttr) error {
	refuse := func(why string) error {
		return fmt.Errorf("from GID %v (%v) to %v (%v): %s: %w", from.GID, from.Type, to.GID, to.GIDType, why, verbs.ErrInvalid)
	}
	switch {
	case to.Link != link:
		return fmt.Errorf("a peer on %v from a port on %v: %w", to.Link, link, verbs.ErrInvalid)
	case link != verbs.LinkEthernet:
		return nil
	case to.GIDType != from.Type:
		return refuse("the types differ")
	case to.Port != 0 && to.Port != rocePort:
		return refuse(fmt.Sprintf("it is reached by UDP port %d only", to.Port))
	case from.Type == verbs.GIDRoCEv2 && isIPv4(from.GID) != isIPv4(to.GID):
		return refuse("one is an IPv4 address and the other is not")
	}
	return nil
}
