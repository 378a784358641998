package plan_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"heddle/emu"
	"heddle/fabric/topology"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
	"heddle/umad"
)

// emulated is a subnet and a port at its first adapter, in virtual time.
type emulated struct {
	*testing.T
	live *emu.Live
	port *umad.Port
}

func onEmulator(t *testing.T, spec string, cfg emu.Config, test func(e emulated)) {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, cfg)
		if err != nil {
			t.Fatal(err)
		}
		dev, err := live.Open("", 0)
		if err != nil {
			t.Fatal(err)
		}
		e := emulated{t, live, umad.NewPort(dev)}
		test(e)
		if err := errors.Join(e.port.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

func (e emulated) sweep() *subnet.View {
	e.Helper()
	v, err := subnet.Sweep(e.Context(), e.port, subnet.Options{PKeys: true})
	if err != nil {
		e.Fatal(err)
	}
	return v
}

// send sends stages, tells held the answers, and returns how many SMPs there
// were.
func (e emulated) send(held *plan.Held, stages ...plan.Stage) (sent int) {
	e.Helper()
	for _, s := range stages {
		next := 0
		take := func() (*plan.SMP, bool) {
			if next == len(s.SMPs) {
				return nil, false
			}
			next++
			return &s.SMPs[next-1], true
		}
		request := func(q *plan.SMP) subnet.Request {
			return subnet.Request{Node: q.Node, Path: q.Path(), Method: mad.MethodSet, Attr: q.Attr, Modifier: q.Modifier, Data: q.Data[:]}
		}
		_, err := subnet.Exchange(e.Context(), e.port, subnet.Options{}, take, request, func(q *plan.SMP, d *mad.Datagram, err error) error {
			if err == nil && d.Status() != mad.StatusOK {
				err = fmt.Errorf("%s: %v of %s: status %v", s.Name, q.Attr.Name(mad.ClassDirected), q.Node.Label(), d.Status())
			}
			if err == nil {
				held.Answered(q.Node.GUID(), q.Attr, q.Modifier, d.Data())
				held.Told(q.Node.GUID(), q.Port, q.Attr, q.Modifier, d.Data(), true)
			}
			return err
		})
		if err != nil {
			e.Fatal(err)
		}
		sent += len(s.SMPs)
	}
	return sent
}

// address gives all ports LIDs and returns the view.
func (e emulated) address(held *plan.Held, r plan.PortRules) *subnet.View {
	e.Helper()
	v := e.sweep()
	lids, err := plan.AssignLIDs(v, plan.LIDRules{})
	if err != nil {
		e.Fatal(err)
	}
	for p, own := range lids {
		if v.Own.Node == p.Node.ID {
			r.Manager = own.First
		}
	}
	e.send(held, plan.Addresses(v, lids, r))
	v.Rebuild()
	return v
}

// read gets tables, tells held of them, and returns how many there were.
func (e emulated) read(held *plan.Held, list []plan.SMP) int {
	e.Helper()
	for i := range list {
		q := &list[i]
		data := e.get(q.Node, q.Attr, q.Modifier)
		held.Told(q.Node.GUID(), q.Port, q.Attr, q.Modifier, data, true)
	}
	return len(list)
}
