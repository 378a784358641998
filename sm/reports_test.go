package sm_test

import (
	"errors"
	"testing"
	"time"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
)

// TestReportsWaitForTheSubscriber: a report is sent again only when the time is
// over that the subscriber says it takes, as far as that is bearable.
func TestReportsWaitForTheSubscriber(t *testing.T) {
	for _, test := range []struct {
		takes       mad.TimeValue
		least, most time.Duration // between two tries
	}{
		{0, 200 * time.Millisecond, 300 * time.Millisecond},
		{18, time.Second, 2 * time.Second},
		{31, 5 * time.Second, 11 * time.Second}, // more than two hours
	} {
		run(t, "single:hosts=4", emu.Config{}, func(t *testing.T, r running) {
			hosts := r.fabric(t).Adapters()
			dev, err := r.live.Open(r.fabric(t).Node(hosts[3]).ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			port := umad.NewPort(dev)
			tries := make(chan time.Time, 10)
			reports := umad.Agent{Class: mad.ClassSA, Version: 2, Methods: []mad.Method{mad.MethodReport}}
			if err := port.Handle(reports, func(*umad.Message) { tries <- time.Now() }); err != nil {
				t.Fatal(err)
			}
			r.subscribe(t, port, test.takes)
			c := r.client(t, r.fabric(t).Node(hosts[2]).ID)
			if _, err := c.Join(t.Context(), mad.MCMemberRecord{MGID: mgid(9), PKey: ib.DefaultPKey}, sa.MCMemberCreate); err != nil {
				t.Error(err)
			}
			first := <-tries
			if between := (<-tries).Sub(first); between < test.least || between > test.most {
				t.Errorf("RespTime %v: sent again after %v, want %v to %v", test.takes, between, test.least, test.most)
			}
			if err := errors.Join(c.port.Close(), port.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// subscribe wants reports of all to a port that answers within a time.
func (r running) subscribe(t *testing.T, port *umad.Port, takes mad.TimeValue) {
	t.Helper()
	info, err := port.Info()
	if err != nil {
		t.Fatal(err)
	}
	i := mad.InformInfo{
		IsGeneric: true, Subscribe: true, Type: mad.InformAll, Trap: mad.TrapGroupCreated, Producer: mad.ProducerAll,
		LIDRangeBegin: ib.PermissiveLID, QPN: 1, RespTime: takes,
	}
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodSet, Attr: mad.AttrInformInfo})
	copy(d[56:], i.AppendTo(nil))
	answer, err := port.Call(t.Context(), &umad.Message{Address: umad.ToLID(info.SMLID), Data: d[:]}, umad.CallOptions{})
	if err != nil || answer.Datagram().Status() != mad.StatusOK {
		t.Fatalf("subscription: %v", err)
	}
}
