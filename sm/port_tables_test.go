package sm_test

import (
	"errors"
	"testing"
	"time"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
)

// TestTablesOfPorts: subnet administration reads what a sweep does not.
func TestTablesOfPorts(t *testing.T) {
	run(t, "single:hosts=4", emu.Config{SwitchPKeys: 64, PKeys: 32}, func(t *testing.T, r running) {
		host := r.fabric(t).Adapters()[2]
		c, ctx := r.client(t, r.fabric(t).Node(host).ID), t.Context()
		lid := r.info(t, r.fabric(t).Node(host).ID).LID
		mapping, err := sa.Get(ctx, c.Client, mad.SLtoVLRecord{LID: lid}, mad.SLtoVLRecordLID)
		want := mad.SLtoVLRecord{LID: lid, OutputPort: 1}
		for sl := range want.Mapping {
			want.Mapping[sl] = ib.VL(sl % 8)
		}
		if err != nil || mapping != want {
			t.Errorf("%+v, %v, want %+v", mapping, err, want)
		}
		weights, err := sa.Get(ctx, c.Client, mad.VLArbitrationRecord{LID: lid, Block: mad.VLArbitrationLowFirst},
			mad.VLArbitrationRecordLID|mad.VLArbitrationRecordBlock)
		if err != nil || weights.Table[7] != (mad.VLWeight{VL: 7, Weight: 4}) || weights.Table[8] != (mad.VLWeight{}) {
			t.Errorf("%+v, %v", weights, err)
		}
		for _, test := range []struct {
			name string
			n    func() (int, error)
			want int
		}{
			{"mappings", count(t, c, mad.SLtoVLRecord{}, 0), 4 + 5*5},
			{"arbitration tables", count(t, c, mad.VLArbitrationRecord{}, 0), 4 * (4 + 5)},
			{"GUIDs", count(t, c, mad.GUIDInfoRecord{}, 0), 4 * 5},
			{"GUIDs of a port", count(t, c, mad.GUIDInfoRecord{LID: lid, Block: 1}, mad.GUIDInfoRecordLID|mad.GUIDInfoRecordBlock), 1},
		} {
			if n, err := test.n(); err != nil || n != test.want {
				t.Errorf("%d %s, want %d, %v", n, test.name, test.want, err)
			}
		}
		if err := c.port.Close(); err != nil {
			t.Error(err)
		}
	})
}

func count[R mad.Record](t *testing.T, c client, query R, mask mad.ComponentMask) func() (int, error) {
	return func() (int, error) {
		list, err := sa.Query(t.Context(), c.Client, query, mask)
		return len(list), err
	}
}

// TestAlias: a port gets an alias, is found by it, and gets what a group is sent
// that it joined by it.
func TestAlias(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		info := r.info(t, r.fabric(t).Node(hosts[2]).ID)
		c, ctx := r.client(t, r.fabric(t).Node(hosts[2]).ID), t.Context()
		added, err := c.AddAliases(ctx, mad.GUIDInfoRecord{LID: info.LID, GUIDs: mad.GUIDInfo{1: 0x77}}, mad.GUIDInfoRecordGUID<<1)
		if err != nil || added.GUIDs != (mad.GUIDInfo{info.PortGUID, 0x77}) {
			t.Fatalf("%+v, %v", added, err)
		}
		alias := ib.NewGID(ib.DefaultPrefix, 0x77)
		path, err := sa.Get(ctx, c.Client, mad.PathRecord{SGID: r.info(t, r.fabric(t).Node(hosts[5]).ID).GID(), DGID: alias},
			mad.PathRecordSGID|mad.PathRecordDGID)
		if err != nil || path.DLID != info.LID {
			t.Errorf("%+v, %v", path, err)
		}
		joined, err := c.Join(ctx, mad.MCMemberRecord{MGID: mgid(1), PortGID: alias, PKey: ib.DefaultPKey}, sa.MCMemberCreate)
		if err != nil || joined.PortGID != alias {
			t.Fatalf("%+v, %v", joined, err)
		}
		if _, err := r.client(t, r.fabric(t).Node(hosts[7]).ID).Join(ctx, mad.MCMemberRecord{MGID: mgid(1)}, 0); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		if got := r.spread(t, joined.MLID, hosts[7]); len(got) != 1 || got[0] != hosts[2] {
			t.Errorf("a packet to the group reaches %v, want %v", got, hosts[2])
		}
		err = errors.Join(c.RemoveAliases(ctx, mad.GUIDInfoRecord{LID: info.LID}, mad.GUIDInfoRecordGUID<<1), c.port.Close())
		if err != nil {
			t.Error(err)
		}
		left, err := sa.Query(ctx, r.client(t, r.fabric(t).Node(hosts[3]).ID).Client, mad.PathRecord{SGID: info.GID(), DGID: alias}, mad.PathRecordSGID|mad.PathRecordDGID)
		if err == nil {
			t.Errorf("paths to an alias that is gone: %+v", left)
		}
	})
}
