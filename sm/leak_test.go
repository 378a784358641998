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

// TestNothingIsLeft joins and leaves ten thousand groups, again and again: what
// the manager knows is as before, and it takes no more memory than after the
// first time.
func TestNothingIsLeft(t *testing.T) {
	groups := 10_000
	if testing.Short() {
		groups = 1000
	}
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()[1:5]
		each := make([][]mad.MCMemberRecord, len(hosts))
		for n := range groups {
			g := ib.MustParseMGID("ff12:a01c::")
			g[10], g[11] = byte(n>>8), byte(n)
			q := joining(g, mad.JoinFull)
			each[n%4] = append(each[n%4], q)
			if n%3 == 0 { // a second member, so that there is something to be written
				each[(n+1)%4] = append(each[(n+1)%4], q)
			}
		}
		before := r.Status().Groups
		var first int64
		for round := range 3 {
			for i, host := range hosts {
				r.at(t, host, func(c client) {
					joinAll(t, c, each[i])
				})
			}
			time.Sleep(3 * time.Second)
			if s := r.Status(); s.Groups.Groups != before.Groups+groups || s.Groups.MLIDs != before.MLIDs+groups || len(s.Unsettled) > 0 {
				t.Errorf("round %d: %+v, %d MLIDs not written", round, s.Groups, len(s.Unsettled))
			}
			for i, host := range hosts {
				r.at(t, host, func(c client) {
					leaveAll(t, c, each[i])
				})
			}
			time.Sleep(3 * time.Second)
			if diff := cmp.Diff(before, r.Status().Groups); diff != "" {
				t.Fatalf("round %d: (-before +after):\n%s", round, diff)
			}
			heap := heapNow()
			if round == 0 {
				first = heap
			} else if heap > first+first/8+1<<20 {
				t.Errorf("round %d: %d KiB of memory, after the first %d", round, heap>>10, first>>10)
			}
		}
	})
}

func joinAll(t *testing.T, c client, all []mad.MCMemberRecord) {
	t.Helper()
	var failed error
	err := c.JoinAll(t.Context(), all, sa.MCMemberCreate, func(_ int, _ mad.MCMemberRecord, err error) { failed = errors.Join(failed, err) })
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
}

func leaveAll(t *testing.T, c client, all []mad.MCMemberRecord) {
	t.Helper()
	var failed error
	err := c.LeaveAll(t.Context(), all, func(_ int, err error) { failed = errors.Join(failed, err) })
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
}
