package sa_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
	"heddle/umad/umadtest"
)

var wanted = mad.InformInfo{IsGeneric: true, Type: mad.InformAll, Trap: 64, Producer: mad.ProducerAll}

// report is a request of subnet administration to a subscriber.
func report(tid uint64, n mad.Notice) *umad.Message {
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodReport, TID: tid, Attr: mad.AttrNotice})
	n.AppendTo(d.Data()[:0])
	return &umad.Message{Address: umad.ToLID(1), Data: d[:]}
}

func TestSubscribe(t *testing.T) {
	var asked []mad.InformInfo
	s := func(m *umad.Message) answer {
		i, err := mad.ParseInformInfo(m.Datagram().Data())
		if err != nil || m.Datagram().Method() != mad.MethodSet || m.Datagram().Attr() != mad.AttrInformInfo {
			t.Errorf("asked %+v, %v", m.Datagram().Header(), err)
		}
		asked = append(asked, i)
		return answer{records: []mad.Attribute{i}}
	}
	run(t, umadtest.Options{}, s, func(t *testing.T, b bed) {
		var got []mad.TrapNumber
		sub, err := b.client.Subscribe(t.Context(), wanted, func(n mad.Notice) { got = append(got, n.Trap) })
		if err != nil {
			t.Fatal(err)
		}
		ours := mad.Notice{IsGeneric: true, Trap: 64, IssuerGID: ib.NewGID(ib.DefaultPrefix, 7)}
		others := mad.Notice{IsGeneric: true, Trap: 65}
		b.report(t, 1, ours, mad.StatusOK)
		b.report(t, 1, ours, mad.StatusOK) // as its answer might be lost
		b.report(t, 2, others, mad.StatusOK)
		b.report(t, 3, ours, mad.StatusOK)
		if diff := cmp.Diff([]mad.TrapNumber{64, 64}, got); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		if err := sub.Unsubscribe(t.Context()); err != nil {
			t.Error(err)
		}
		b.report(t, 4, ours, mad.StatusOK)
		if len(got) != 2 {
			t.Error("a report after Unsubscribe")
		}
		want := wanted
		want.LIDRangeBegin, want.QPN, want.Subscribe = ib.PermissiveLID, 1, true
		end := want
		end.Subscribe = false
		if diff := cmp.Diff([]mad.InformInfo{want, end}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// report sends a report as subnet administration does, and looks at the answer.
func (b bed) report(t *testing.T, tid uint64, n mad.Notice, want mad.Status) {
	t.Helper()
	m := report(tid, n)
	b.device.Inject(m)
	synctest.Wait()
	d := b.device.Last().Datagram()
	if d.Method() != mad.MethodReportResp || d.TID() != tid || d.Status() != want {
		t.Errorf("report %d answered by %+v", tid, d.Header())
	}
}

func TestSubscribeRefused(t *testing.T) {
	run(t, umadtest.Options{}, func(*umad.Message) answer { return answer{status: mad.StatusSADenied} }, func(t *testing.T, b bed) {
		none := func(mad.Notice) { t.Error("a report") }
		var typed *umad.StatusError
		if _, err := b.client.Subscribe(t.Context(), wanted, none); !errors.As(err, &typed) {
			t.Errorf("Subscribe: %v", err)
		}
		b.report(t, 1, mad.Notice{IsGeneric: true, Trap: 64}, mad.StatusOK)
		other := sa.New(b.near, sa.Options{})
		if _, err := other.Subscribe(t.Context(), wanted, none); !errors.Is(err, umad.ErrClassTaken) {
			t.Errorf("Subscribe of a second client: %v", err)
		}
		strange := report(2, mad.Notice{})
		strange.Data[17] = 9
		b.device.Inject(strange)
		synctest.Wait()
		if got := b.device.Last().Datagram().Status(); got != mad.StatusBadAttribute {
			t.Errorf("report of another attribute: status %s", got)
		}
	})
}
