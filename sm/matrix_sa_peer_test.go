package sm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
)

// makeGroups has one client join ports to 60 groups of 2 to 40, half of them
// collected, and to one of all ports. It returns when they are in the switches:
// what joined before the collected groups were complete was routed with them at
// the latest.
func (x *matrix) makeGroups(t *testing.T) {
	t.Helper()
	ends := x.found.EndPorts()
	random := rand.New(rand.NewPCG(3, 4))
	x.groups = append(x.groups, fabric.Group{Members: ends})
	for range 60 {
		var g fabric.Group
		for _, i := range random.Perm(len(ends))[:2+random.IntN(39)] {
			g.Members = append(g.Members, ends[i])
		}
		x.groups = append(x.groups, g)
	}
	for i, g := range x.groups {
		collected := uint16(0)
		if i > 30 {
			collected = uint16(len(g.Members))
		}
		x.mgids = append(x.mgids, mgid(byte(i)))
		x.mlids = append(x.mlids, x.joinGroup(t, x.mgids[i], collected, g.Members))
	}
	for _, mgid := range x.mgids[31:] {
		eventually(t, func() string {
			s, err := sa.Get(t.Context(), x.client, mad.MCGStateRecord{MGID: mgid}, mad.MCGStateRecordMGID)
			if err != nil || s.State != mad.MCGReady {
				return fmt.Sprintf("%v: %+v, %v", mgid, s, err)
			}
			return ""
		})
	}
}

// joinGroup joins ports to a group, which collects them where their number is
// told.
func (x *matrix) joinGroup(t *testing.T, mgid ib.MGID, collected uint16, members []fabric.End) (mlid ib.MLID) {
	t.Helper()
	mask := sa.MCMemberCreate
	if collected > 0 {
		mask |= mad.MCMemberRecordMemberCount
	}
	var all []mad.MCMemberRecord
	for _, e := range members {
		all = append(all, mad.MCMemberRecord{
			MGID: mgid, PortGID: x.gid(e), QKey: 0x1234, PKey: ib.DefaultPKey, JoinState: mad.JoinFull, MemberCount: collected,
		})
	}
	err := x.client.JoinAll(t.Context(), all, mask, func(i int, r mad.MCMemberRecord, err error) {
		if err != nil || mlid != 0 && r.MLID != mlid {
			t.Errorf("join %d of %v: MLID %v, before %v, error %v", i, mgid, r.MLID, mlid, err)
		}
		mlid = r.MLID
	})
	if err != nil {
		t.Fatal(err)
	}
	return mlid
}

func (x *matrix) gid(e fabric.End) ib.GID {
	return ib.NewGID(ib.DefaultPrefix, x.found.Port(e).GUID)
}

// lid is that of a port, for a switch's port that of the switch.
func (x *matrix) lid(e fabric.End) ib.LID {
	if x.found.Node(e.Node).Kind == fabric.Switch {
		e.Port = 0
	}
	return x.found.Port(e).LID
}

// whole is a table of subnet administration.
func whole[R mad.Record](t *testing.T, c *sa.Client, query R, mask mad.ComponentMask) []R {
	t.Helper()
	list, err := sa.Query(t.Context(), c, query, mask)
	if err != nil {
		t.Fatalf("%T: %v", query, err)
	}
	return list
}

// checkRecords: the tables of subnet administration, whole, tell of the same
// subnet as the diagnostic programs.
func (x *matrix) checkRecords(t *testing.T) {
	t.Helper()
	x.checkNodeRecords(t)
	links := map[mad.LinkRecord]bool{}
	for id := range fabric.LinkID(x.found.NumLinks()) {
		l := x.found.Link(id)
		for _, way := range [][2]fabric.End{{l.A, l.B}, {l.B, l.A}} {
			from, to := way[0], way[1]
			links[mad.LinkRecord{FromLID: x.lid(from), FromPort: uint8(from.Port), ToLID: x.lid(to), ToPort: uint8(to.Port)}] = true
		}
	}
	if diff := cmp.Diff(links, set(whole(t, x.client, mad.LinkRecord{}, 0))); diff != "" {
		t.Errorf("links (-ibnetdiscover +records):\n%s", diff)
	}
	members := map[[2]any]bool{}
	for i, g := range x.groups {
		for _, e := range g.Members {
			members[[2]any{x.mlids[i], x.gid(e)}] = true
		}
	}
	told := map[[2]any]bool{}
	for _, r := range whole(t, x.client, mad.MCMemberRecord{}, 0) {
		if r.PortGID != (ib.GID{}) {
			told[[2]any{r.MLID, r.PortGID}] = true
		}
	}
	if diff := cmp.Diff(members, told); diff != "" {
		t.Errorf("members (-joined +records):\n%s", diff)
	}
	x.checkForwardingRecords(t)
}

func set[R comparable](list []R) map[R]bool {
	m := map[R]bool{}
	for _, r := range list {
		m[r] = true
	}
	return m
}

// checkNodeRecords: one for each switch, and for each port of an adapter.
func (x *matrix) checkNodeRecords(t *testing.T) {
	t.Helper()
	want, got := map[ib.LID]string{}, map[ib.LID]string{}
	for _, id := range x.found.Switches() {
		e := fabric.End{Node: id}
		want[x.lid(e)] = fmt.Sprintf("%v %q", x.found.Node(id).GUID, x.found.Node(id).Name)
	}
	for _, e := range x.found.EndPorts() {
		want[x.lid(e)] = fmt.Sprintf("%v %q", x.found.Node(e.Node).GUID, x.found.Node(e.Node).Name)
	}
	for _, r := range whole(t, x.client, mad.NodeRecord{}, 0) {
		got[r.LID] = fmt.Sprintf("%v %q", r.Info.NodeGUID, r.Description.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-ibnetdiscover +records):\n%s", diff)
	}
}

// checkForwardingRecords: what subnet administration tells of the forwarding
// tables is what the switches hold.
func (x *matrix) checkForwardingRecords(t *testing.T) {
	t.Helper()
	vertex := map[ib.LID]int32{}
	for _, id := range x.found.Switches() {
		vertex[x.lid(fabric.End{Node: id})] = x.graph.Vertex(id)
	}
	differ := 0
	for _, r := range whole(t, x.client, mad.LFTRecord{}, 0) {
		for i, port := range r.Ports {
			lid := ib.LID(r.Block)*64 + ib.LID(i)
			if _, ok := x.lfts.LIDs.Owner(lid); ok && x.lfts.Tables[vertex[r.LID]].Lookup(lid) != port {
				differ++
			}
		}
	}
	for _, r := range whole(t, x.client, mad.MFTRecord{}, 0) {
		for i, mask := range r.Ports {
			held := x.mfts.Tables[vertex[r.LID]].Lookup(ib.FirstMLID + ib.MLID(r.Block)*32 + ib.MLID(i))
			for bit := range uint16(16) {
				if held.Has(uint16(r.Position)*16+bit) != (mask>>bit&1 != 0) {
					differ++
				}
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d entries of forwarding tables are not told as dump_lfts and dump_mfts read them", differ)
	}
}

// checkSaquery: single records, as saquery gets them, are those of our client.
func (x *matrix) checkSaquery(t *testing.T) {
	t.Helper()
	ends := x.found.EndPorts()
	from := ends[1]
	paths := whole(t, x.client, mad.PathRecord{SLID: x.lid(from)}, mad.PathRecordSLID)
	if len(paths) < len(ends) {
		t.Errorf("%d paths from a port of %d", len(paths), len(ends))
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 3 {
		p := paths[random.IntN(len(paths))]
		x.saquery(t, fmt.Sprintf("PR --slid %d --dlid %d", p.SLID, p.DLID),
			fmt.Sprint("sgid: ", p.SGID), fmt.Sprint("dgid: ", p.DGID), fmt.Sprintf("sl: 0x%X", uint8(p.SL)),
			fmt.Sprintf("pkey: 0x%04x", uint16(p.PKey)), coded("mtu", uint8(p.MTUSelector), uint8(p.MTU)), coded("rate", uint8(p.RateSelector), uint8(p.Rate)))
	}
	for _, r := range whole(t, x.client, mad.NodeRecord{}, 0)[:3] {
		x.saquery(t, fmt.Sprint("NR ", r.LID), fmt.Sprint("lid: ", r.LID), fmt.Sprint("node_guid: ", r.Info.NodeGUID),
			fmt.Sprint("port_guid: ", r.Info.PortGUID), "NodeDescription: "+r.Description.String())
	}
	for _, i := range []int{0, 7, 50} {
		r := whole(t, x.client, mad.MCMemberRecord{MGID: x.mgids[i]}, mad.MCMemberRecordMGID)[0]
		x.saquery(t, fmt.Sprint("MCMR --mgid ", r.MGID), fmt.Sprint("mlid: ", r.MLID), "qkey: 0x1234",
			fmt.Sprintf("pkey: 0x%04x", uint16(r.PKey)), coded("mtu", uint8(r.MTUSelector), uint8(r.MTU)), coded("rate", uint8(r.RateSelector), uint8(r.Rate)))
	}
}

// coded is a value with its selector, as saquery shows it.
func coded(name string, selector, value uint8) string {
	return fmt.Sprintf("%s: 0x%X", name, selector<<6|value)
}

func (x *matrix) saquery(t *testing.T, ask string, want ...string) {
	t.Helper()
	out := x.diag(t, "saquery", strings.Fields(ask)...)
	for _, line := range want {
		if !strings.Contains(plain(out), plain(line)) {
			t.Errorf("saquery %s: no %q in\n%s", ask, line, out)
		}
	}
}
