package sa_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
	"heddle/umad/umadtest"
)

var mgid = ib.MustParseMGID("ff12:401b:ffff::1:2")

// member is what a request of a Set or Delete says.
type member struct {
	method mad.Method
	mask   mad.ComponentMask
	record mad.MCMemberRecord
}

func memberOf(t *testing.T, m *umad.Message) member {
	t.Helper()
	d := m.Datagram()
	r, err := mad.ParseMCMemberRecord(d.Data())
	if err != nil {
		t.Error(err)
	}
	return member{d.Method(), d.ComponentMask(), r}
}

func TestJoinAndLeave(t *testing.T) {
	own := ib.NewGID(ib.DefaultPrefix, 0x0002c90000000101)
	other := ib.NewGID(ib.DefaultPrefix, 99)
	tests := []struct {
		name string
		do   func(ctx context.Context, c *sa.Client) error
		want member
	}{
		{"join", func(ctx context.Context, c *sa.Client) error {
			_, err := c.Join(ctx, mad.MCMemberRecord{MGID: mgid}, 0)
			return err
		}, member{mad.MethodSet, 0x10003, mad.MCMemberRecord{MGID: mgid, PortGID: own, JoinState: mad.JoinFull}}},
		{"create for another", func(ctx context.Context, c *sa.Client) error {
			_, err := c.Join(ctx, mad.MCMemberRecord{MGID: mgid, PortGID: other, QKey: 5, PKey: ib.DefaultPKey, JoinState: mad.JoinSendOnly}, sa.MCMemberCreate)
			return err
		}, member{mad.MethodSet, 0x130C7, mad.MCMemberRecord{MGID: mgid, PortGID: other, QKey: 5, PKey: ib.DefaultPKey, JoinState: mad.JoinSendOnly}}},
		{"any MGID", func(ctx context.Context, c *sa.Client) error {
			_, err := c.Join(ctx, mad.MCMemberRecord{}, 0)
			return err
		}, member{mad.MethodSet, 0x10002, mad.MCMemberRecord{PortGID: own, JoinState: mad.JoinFull}}},
		{"leave", func(ctx context.Context, c *sa.Client) error {
			return c.Leave(ctx, mad.MCMemberRecord{MGID: mgid, JoinState: mad.JoinNon})
		}, member{mad.MethodDelete, 0x10003, mad.MCMemberRecord{MGID: mgid, PortGID: own, JoinState: mad.JoinNon}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got member
			s := func(m *umad.Message) answer {
				got = memberOf(t, m)
				return answer{records: []mad.Attribute{got.record}}
			}
			run(t, umadtest.Options{}, s, func(t *testing.T, b bed) {
				if err := test.do(t.Context(), b.client); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(member{})); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestJoinRefused(t *testing.T) {
	run(t, umadtest.Options{}, func(*umad.Message) answer { return answer{status: mad.StatusSADenied} }, func(t *testing.T, b bed) {
		var typed *umad.StatusError
		_, err := b.client.Join(t.Context(), mad.MCMemberRecord{MGID: mgid}, 0)
		if !errors.As(err, &typed) || typed.Status != mad.StatusSADenied {
			t.Errorf("Join: %v", err)
		}
		if err := b.client.Leave(t.Context(), mad.MCMemberRecord{MGID: mgid}); !errors.As(err, &typed) {
			t.Errorf("Leave: %v", err)
		}
	})
}

// proxies are n joins, each for another port.
func proxies(n int) []mad.MCMemberRecord {
	all := make([]mad.MCMemberRecord, n)
	for i := range all {
		all[i] = mad.MCMemberRecord{MGID: mgid, PortGID: ib.NewGID(ib.DefaultPrefix, ib.GUID(i+1))}
	}
	return all
}

// TestJoinAll joins 5,000 ports over a link that loses, at a server that is busy
// now and then and refuses every hundredth.
func TestJoinAll(t *testing.T) {
	asked := 0
	members := map[ib.GID]bool{}
	s := func(m *umad.Message) answer {
		r := memberOf(t, m).record
		switch asked++; {
		case asked%50 == 0:
			return answer{status: mad.StatusBusy}
		case r.PortGID.GUID()%100 == 0:
			return answer{status: mad.StatusSARequestInvalid}
		case m.Datagram().Method() == mad.MethodDelete:
			delete(members, r.PortGID)
		default:
			members[r.PortGID] = true
		}
		r.MLID = 0xc001
		return answer{records: []mad.Attribute{r}}
	}
	o := umadtest.Options{Seed: 5, Loss: 0.05, Delay: time.Millisecond}
	so := sa.Options{Call: umad.CallOptions{Timeout: 50 * time.Millisecond, Retries: 20}}
	runWith(t, o, so, s, func(t *testing.T, b bed) {
		const n = 5000
		all := proxies(n)
		joined := map[int]bool{}
		err := b.client.JoinAll(t.Context(), all, 0, func(i int, r mad.MCMemberRecord, err error) {
			refused := (i+1)%100 == 0
			if joined[i] || refused != (err != nil) || !refused && (r.PortGID != all[i].PortGID || r.MLID != 0xc001) {
				t.Errorf("join %d: twice %v, record %+v, error %v", i, joined[i], r, err)
			}
			joined[i] = true
		})
		if err != nil || len(joined) != n || len(members) != n-n/100 {
			t.Errorf("error %v, %d answered, %d members", err, len(joined), len(members))
		}
		left := 0
		err = b.client.LeaveAll(t.Context(), all, func(int, error) { left++ })
		if err != nil || left != n || len(members) != 0 {
			t.Errorf("error %v, %d left, %d members still", err, left, len(members))
		}
	})
}

// TestJoinAllWindow never has more outstanding than it may.
func TestJoinAllWindow(t *testing.T) {
	run(t, umadtest.Options{Delay: 10 * time.Millisecond}, func(m *umad.Message) answer {
		return answer{records: []mad.Attribute{memberOf(t, m).record}}
	}, func(t *testing.T, b bed) {
		start := time.Now()
		if err := b.client.JoinAll(t.Context(), proxies(800), 0, func(int, mad.MCMemberRecord, error) {}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 800/8*20*time.Millisecond {
			t.Errorf("800 joins, 8 at a time, 20 ms each: %v", took)
		}
	})
}

func TestJoinAllEndsEarly(t *testing.T) {
	run(t, umadtest.Options{Loss: 1}, unexpected(t), func(t *testing.T, b bed) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := b.client.JoinAll(ctx, proxies(100), 0, func(int, mad.MCMemberRecord, error) { t.Error("an answer") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		time.Sleep(10 * time.Second) // what was outstanding ends by itself
		synctest.Wait()
		if err := b.near.Close(); err != nil {
			t.Error(err)
		}
		if err := b.client.JoinAll(t.Context(), proxies(1), 0, nil); err == nil {
			t.Error("JoinAll on a closed port succeeds")
		}
	})
}

func TestServices(t *testing.T) {
	var got []string
	s := func(m *umad.Message) answer {
		d := m.Datagram()
		r, err := mad.ParseServiceRecord(d.Data())
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %#x %s %#x %s", d.Method(), r.ServiceID, r.ServiceGID, uint64(d.ComponentMask()), r.ServiceName))
		return answer{records: []mad.Attribute{r}}
	}
	run(t, umadtest.Options{}, s, func(t *testing.T, b bed) {
		r, err := b.client.Register(t.Context(), mad.ServiceRecord{ServiceID: 0x10, ServicePKey: ib.DefaultPKey, ServiceName: mad.NewServiceName("x")}, mad.ServiceRecordData8)
		if err != nil || r.ServiceID != 0x10 {
			t.Errorf("Register: %+v, %v", r, err)
		}
		if err := b.client.Unregister(t.Context(), r); err != nil {
			t.Errorf("Unregister: %v", err)
		}
		want := []string{
			"Set 0x10 fe80::2:c900:0:101 0xf7 x",
			"Delete 0x10 fe80::2:c900:0:101 0x27 x",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}
