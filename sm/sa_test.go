package sm_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
)

// TestWholeTables: what subnet administration tells of the subnet, as our own
// client gets it, by RMPP where it is long.
func TestWholeTables(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		c, ctx := r.client(t, r.fabric(t).Node(hosts[5]).ID), t.Context()
		nodes, err := sa.Query(ctx, c.Client, mad.NodeRecord{}, 0)
		if err != nil || len(nodes) != 36 {
			t.Errorf("%d nodes, %v", len(nodes), err)
		}
		links, err := sa.Query(ctx, c.Client, mad.LinkRecord{}, 0)
		if err != nil || len(links) != 2*48 {
			t.Errorf("%d ends of links, %v", len(links), err)
		}
		if none, err := sa.Query(ctx, c.Client, mad.NodeRecord{LID: 999}, mad.NodeRecordLID); err != nil || len(none) != 0 {
			t.Errorf("%d nodes of no LID, %v", len(none), err)
		}
		paths, err := sa.Query(ctx, c.Client, mad.PathRecord{}, 0)
		if err != nil || len(paths) != 36*36 {
			t.Fatalf("%d paths, %v", len(paths), err)
		}
		for _, p := range paths {
			if !p.Reversible || !p.MTU.IsValid() || !p.Rate.IsValid() {
				t.Errorf("path %+v", p)
			}
		}
		own := r.info(t, r.fabric(t).Node(hosts[5]).ID).GID()
		several, err := c.Paths(ctx, mad.MultiPathRecord{SGIDs: []ib.GID{own}, DGIDs: []ib.GID{paths[0].SGID, paths[40].SGID}}, 0)
		if err != nil || len(several) != 2 {
			t.Errorf("%d paths of pairs, %v", len(several), err)
		}
		if err := c.port.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestReported: who subscribed is told of groups that are created and deleted.
func TestReported(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		c, ctx := r.client(t, r.fabric(t).Node(hosts[3]).ID), t.Context()
		reports := make(chan mad.TrapNumber, 10)
		all := mad.InformInfo{IsGeneric: true, Type: mad.InformAll, Trap: mad.TrapAll, Producer: mad.ProducerAll}
		sub, err := c.Subscribe(ctx, all, func(n mad.Notice) {
			if d, _ := n.ParseDetails(); d == (mad.GIDDetails{GID: mgid(9).GID()}) {
				reports <- n.Trap
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		joined, err := c.Join(ctx, mad.MCMemberRecord{MGID: mgid(9), PKey: ib.DefaultPKey}, sa.MCMemberCreate)
		if err = errors.Join(err, c.Leave(ctx, joined)); err != nil {
			t.Error(err)
		}
		told := []mad.TrapNumber{<-reports, <-reports}
		if diff := cmp.Diff([]mad.TrapNumber{mad.TrapGroupCreated, mad.TrapGroupDeleted}, told); diff != "" {
			t.Error(diff)
		}
		if err := errors.Join(sub.Unsubscribe(ctx), c.port.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestService: a service is found until it ends.
func TestService(t *testing.T) {
	run(t, "single:hosts=4", emu.Config{}, func(t *testing.T, r running) {
		c, ctx := r.client(t, r.fabric(t).Node(r.fabric(t).Adapters()[2]).ID), t.Context()
		want := mad.ServiceRecord{ServiceID: 5, ServicePKey: ib.DefaultPKey, ServiceLease: 60, ServiceName: mad.NewServiceName("here")}
		if _, err := c.Register(ctx, want, 0); err != nil {
			t.Error(err)
		}
		got, err := sa.Get(ctx, c.Client, want, mad.ServiceRecordServiceName)
		want.ServiceGID = got.ServiceGID
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		time.Sleep(61 * time.Second)
		left, err := sa.Query(ctx, c.Client, want, mad.ServiceRecordServiceName)
		if len(left) != 0 || err != nil {
			t.Errorf("%d services after the lease, %v", len(left), err)
		}
		if err := c.port.Close(); err != nil {
			t.Error(err)
		}
	})
}
