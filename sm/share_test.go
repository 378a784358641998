package sm_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm"
	"heddle/umad"
)

// TestShareMLIDs has three times as many groups as the switches have MLIDs: each
// packet comes to every member of its group, once, and to those only who are
// members of a group with the same MLID.
func TestShareMLIDs(t *testing.T) {
	const groups = 100
	share := func(c *sm.Config) { c.Groups.Share = true }
	runWith(t, "fat-tree:k=4", emu.Config{MLIDs: 32}, share, func(t *testing.T, r running) {
		hosts, random := r.fabric(t).Adapters(), rand.New(rand.NewPCG(1, 2))
		members, mlids := map[byte][]fabric.NodeID{}, map[byte]ib.MLID{}
		for n := byte(1); n <= groups; n++ {
			for _, i := range random.Perm(len(hosts))[:2+random.IntN(4)] {
				members[n] = append(members[n], hosts[i])
			}
			mlids[n] = r.join(t, mgid(n), 0, members[n]...)
			slices.Sort(members[n])
		}
		time.Sleep(2 * time.Second)
		union := map[ib.MLID][]fabric.NodeID{}
		for n, mlid := range mlids {
			union[mlid] = append(union[mlid], members[n]...)
		}
		s := r.Status()
		if len(union) != 31 || s.Groups.Shared == 0 || s.Sharing < groups-31 || len(s.Unsettled) > 0 {
			t.Errorf("%d MLIDs; %d of them shared, by %d groups; %v not written", len(union), s.Groups.Shared, s.Sharing, s.Unsettled)
		}
		for n, mlid := range mlids {
			from := members[n][0]
			slices.Sort(union[mlid])
			want := slices.DeleteFunc(slices.Compact(slices.Clone(union[mlid])), func(h fabric.NodeID) bool { return h == from })
			if got := r.spread(t, mlid, from); !slices.Equal(got, want) {
				t.Errorf("group %d at MLID %v: a packet reaches %v, want %v", n, mlid, got, want)
			}
		}
		r.leavesShared(t, members, mlids)
	})
}

// leavesShared lets a group that shares be left: the others are served still,
// and nobody else.
func (r running) leavesShared(t *testing.T, members map[byte][]fabric.NodeID, mlids map[byte]ib.MLID) {
	t.Helper()
	gone := byte(100)
	for _, host := range members[gone] {
		c := r.client(t, r.fabric(t).Node(host).ID)
		q := mad.MCMemberRecord{MGID: mgid(gone), JoinState: mad.JoinFull}
		if err := errors.Join(c.Leave(t.Context(), q), c.port.Close()); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Second)
	var left []fabric.NodeID
	for n, mlid := range mlids {
		if mlid == mlids[gone] && n != gone {
			left = append(left, members[n]...)
		}
	}
	slices.Sort(left)
	left = slices.Compact(left)
	if len(left) == 0 {
		t.Fatal("the last group shares with none")
	}
	if got := r.spread(t, mlids[gone], left[0]); !slices.Equal(got, left[1:]) {
		t.Errorf("after a leave a packet reaches %v, want %v", got, left[1:])
	}
}

// TestNoSharing: without it, what does not fit is refused.
func TestNoSharing(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{MLIDs: 8}, func(t *testing.T, r running) {
		host := r.fabric(t).Adapters()[3]
		r.fill(t, host, 7)
		c := r.client(t, r.fabric(t).Node(host).ID)
		_, err := c.Join(t.Context(), mad.MCMemberRecord{MGID: mgid(8), QKey: 1, PKey: ib.DefaultPKey}, sa.MCMemberCreate)
		var status *umad.StatusError
		if !errors.As(err, &status) || status.Status != mad.StatusSANoResources {
			t.Errorf("an eighth group: %v", err)
		}
	})
}

// fill lets a host join so many groups.
func (r running) fill(t *testing.T, host fabric.NodeID, groups byte) {
	t.Helper()
	for n := byte(1); n <= groups; n++ {
		r.join(t, mgid(n), 0, host)
	}
}
