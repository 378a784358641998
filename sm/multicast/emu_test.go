package multicast_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
	"heddle/sm/plan"
	"heddle/sm/subnet"
	"heddle/umad"
)

// TestOnEmulator takes collected groups from their joins to tables in emulated
// switches, loses a cable, and takes them out again.
func TestOnEmulator(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, emu.Config{})
		if err != nil {
			t.Fatal(err)
		}
		dev, err := live.Open("", 0)
		if err != nil {
			t.Fatal(err)
		}
		e := emulated{T: t, port: umad.NewPort(dev), world: newWorld(t, f, engine(t, "weave", 1))}
		e.sweep()
		e.groups()
		e.loses(live, f)
		e.leaves()
		if err := errors.Join(e.port.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

// emulated is a world whose switches are emulated.
type emulated struct {
	*testing.T
	*world
	port  *umad.Port
	table *group.Table
	hosts []int
	mlid  ib.MLID
}

func (e *emulated) sweep() {
	e.T.Helper()
	v, err := subnet.Sweep(e.Context(), e.port, subnet.Options{})
	if err != nil {
		e.T.Fatal(err)
	}
	if _, err := e.r.Rebase(v); err != nil {
		e.T.Fatal(err)
	}
	e.fabric, e.active = v.Fabric, v.Fabric
}

// exchange sends requests and takes their answers as what the switches hold.
func (e *emulated) exchange(list []subnet.Request) {
	e.T.Helper()
	take := func() (r subnet.Request, ok bool) {
		if len(list) == 0 {
			return r, false
		}
		r, list = list[0], list[1:]
		return r, true
	}
	same := func(r subnet.Request) subnet.Request { return r }
	done := func(r subnet.Request, d *mad.Datagram, err error) error {
		if err != nil || d.Status() != mad.StatusOK {
			e.T.Errorf("%v of %s: %v", r.Attr, r.Node.Label(), err)
			return err
		}
		guid := r.Node.GUID()
		e.held.Answered(guid, r.Attr, r.Modifier, d.Data())
		if block, err := mad.ParseMulticastForwarding(d.Data()); err == nil && r.Attr == mad.AttrMulticastForwarding {
			if e.real[guid] == nil {
				e.real[guid] = table{}
			}
			e.real[guid][r.Modifier] = block
		}
		return nil
	}
	if _, err := subnet.Exchange(e.Context(), e.port, subnet.Options{}, take, same, done); err != nil {
		e.T.Fatal(err)
	}
}

func get(blocks []plan.Block) (list []subnet.Request) {
	for _, b := range blocks {
		list = append(list, subnet.Request{
			Node: b.Node, Path: b.Node.Path, Method: mad.MethodGet, Attr: b.Attr, Modifier: b.Modifier,
		})
	}
	return list
}

func set(stage plan.Stage) (list []subnet.Request) {
	for i := range stage.SMPs {
		s := &stage.SMPs[i]
		list = append(list, subnet.Request{
			Node: s.Node, Path: s.Node.Path, Method: mad.MethodSet, Attr: s.Attr, Modifier: s.Modifier, Data: s.Data[:],
		})
	}
	return list
}

// work takes a batch through all steps.
func (e *emulated) work() group.Batch {
	e.T.Helper()
	b := e.table.Take(time.Now(), group.Everything)
	e.r.Update(b, e.table)
	e.exchange(get(e.r.Unknown(e.held)))
	for _, stage := range e.r.Plan(e.held).Stages {
		e.exchange(set(stage))
	}
	if list := e.r.Unsettled(e.held); len(list) > 0 {
		e.T.Errorf("not settled: %v", list)
	}
	e.table.Removed(time.Now(), b.ID)
	e.table.Programmed(time.Now(), b.ID)
	return b
}

func (e *emulated) groups() {
	var err error
	if e.table, err = group.New(group.Config{}); err != nil {
		e.T.Fatal(err)
	}
	e.hosts = []int{0, 5, 15}
	for _, host := range e.hosts {
		join := e.request(host)
		if _, err := e.table.Join(time.Now(), join); err != nil {
			e.T.Fatal(err)
		}
	}
	b := e.work()
	if g, _ := e.table.Group(e.request(0).MGID); g.State != group.Ready || len(b.Complete) != 1 {
		e.T.Errorf("the group is %v", g.State)
	}
	e.mlid = b.Changed[0]
	e.allReached()
}

func (e *emulated) request(host int) *group.Request {
	port := &group.Port{GID: e.gids([]int{host})[0], PKeys: []ib.PKey{ib.DefaultPKey}, MTU: ib.MTU4096, Rate: ib.Rate200}
	return &group.Request{
		Has: group.CreateComponents, MGID: ib.MustParseMGID("ff12::1"), JoinState: group.FullMember,
		Params: group.Params{PKey: ib.DefaultPKey}, MemberCount: 3,
		PortGID: port.GID, Requester: port, Member: port,
	}
}

func (e *emulated) allReached() {
	e.T.Helper()
	for i, host := range e.hosts {
		e.wantReached(e.mlid, host, slices.Delete(slices.Clone(e.hosts), i, i+1)...)
	}
}

// loses cuts a cable of the tree, at the switch of the first member.
func (e *emulated) loses(live *emu.Live, f *fabric.Fabric) {
	e.T.Helper()
	member, _ := e.fabric.ByPortGUID(hostGUID(e.hosts[0]))
	leaf, _ := e.fabric.Leaf(member)
	guid := e.fabric.Node(leaf.Node).GUID
	cut := false
	for port := range e.entry(guid, e.mlid).All() {
		if port == leaf.Port {
			continue
		}
		cut = true
		id, _ := f.ByGUID(guid)
		link := f.Port(fabric.End{Node: id, Port: port}).Link
		if err := live.Do(func(s *emu.Subnet) error { s.CutLink(link); return nil }); err != nil {
			e.T.Fatal(err)
		}
	}
	if !cut {
		e.T.Error("no cable was cut")
	}
	e.sweep()
	e.work()
	e.allReached()
}

// leaves lets all members leave: no entry is left.
func (e *emulated) leaves() {
	e.T.Helper()
	for _, host := range e.hosts {
		if _, err := e.table.Leave(time.Now(), e.request(host)); err != nil {
			e.T.Fatal(err)
		}
	}
	if b := e.work(); len(b.Vanished) != 1 {
		e.T.Errorf("vanished: %v", b.Vanished)
	}
	if n := e.switches(e.mlid); n > 0 {
		e.T.Errorf("%d switches still have an entry", n)
	}
}
