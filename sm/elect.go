package sm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/election"
	"heddle/sm/group"
	"heddle/sm/subnet"
	"heddle/umad"
)

// vote is the manager's part in the election, which the port's goroutines
// share with the manager's own.
type vote struct {
	mu      sync.Mutex
	machine *election.Machine  // guarded by mu, as what follows
	halt    context.CancelFunc // ends what is being written; nil where nothing is

	acted chan struct{} // holds one: the machine may want something
}

// do lets a function use the machine, and has what it wants be done.
func (v *vote) do(f func(e *election.Machine)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v.machine)
	if v.machine.State() != mad.SMMaster && v.halt != nil {
		v.halt() // another one is to write from now on
	}
	wake(v.acted)
}

// writing gives a context for what only the master may do: it ends when the
// manager is master no more.
func (v *vote) writing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.halt = cancel
	if v.machine.State() != mad.SMMaster {
		cancel()
	}
	return ctx, cancel
}

// take is what the machine wants.
func (v *vote) take() (list []election.Action, state mad.SMState, next time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list = v.machine.Take()
	next, ok = v.machine.NextDeadline()
	return list, v.machine.State(), next, ok
}

// active says that the manager is alive, and not only its answers to SMInfo.
func (v *vote) active() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.machine.Active()
}

func (v *vote) info() mad.SMInfo {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.machine.Info()
}

// serveSMInfo answers other managers.
func (m *Manager) serveSMInfo() error {
	for _, class := range []mad.Class{mad.ClassLID, mad.ClassDirected} {
		a := umad.Agent{Class: class, Version: 1, Methods: []mad.Method{mad.MethodGet, mad.MethodSet}}
		if err := m.port.Handle(a, m.askedSMInfo); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) askedSMInfo(msg *umad.Message) {
	d := msg.Datagram()
	info, err := mad.ParseSMInfo(d.Data())
	if err != nil || d.Attr() != mad.AttrSMInfo {
		return // the node's agent answers what is not the manager's
	}
	q := election.Request{Set: d.Method() == mad.MethodSet, Control: mad.SMControl(d.Modifier()), Info: info}
	if d.Class() == mad.ClassDirected {
		n := min(int(d.HopCount()), mad.MaxHops)
		q.Path = slices.Clone(d.ReturnPath()[1 : n+1])
		slices.Reverse(q.Path)
	}
	var status mad.Status
	m.vote.do(func(e *election.Machine) { status, info = e.Request(time.Now(), q) })
	if err := msg.Reply(status); err != nil {
		return
	}
	info.AppendTo(d.Data()[:0])
	m.reply(msg)
}

// act does what the machine wants; left says that the manager has nothing to do
// any more.
func (m *Manager) act(ctx context.Context, a election.Action) (left bool) {
	m.cfg.Log.Debug("election", "action", a.Kind, "peer", a.Peer.Port, "reason", a.Reason)
	switch a.Kind {
	case election.Discover:
		if m.leading {
			m.follow()
		}
		m.discover(ctx)
	case election.Lead:
		m.lead(ctx, a.Reason)
	case election.Follow:
		m.cfg.Log.Info("standby", "master", a.Peer.Port, "reason", a.Reason)
		m.dropGiven()
		m.follow()
	case election.Leave:
		m.follow()
		return true
	case election.Resweep:
		m.Resweep(a.Reason)
	case election.Ask:
		m.talk(a, mad.MethodGet, 0, mad.SMInfo{})
	case election.Tell:
		m.talk(a, mad.MethodSet, uint32(a.Control), a.Info)
	case election.Announce:
		m.announce()
	case election.Note:
		m.cfg.Log.Warn("election", "peer", a.Peer.Port, "note", a.Reason)
	}
	return false
}

// lead begins to be the master, with what the last one knew.
func (m *Manager) lead(ctx context.Context, reason string) {
	m.cfg.Log.Info("master", "reason", reason)
	m.takeUp(ctx, reason)
}

// begins forgets what the manager knew of the subnet when it was its master the
// last time: another one may have written since.
func (m *Manager) begins() {
	m.leading, m.programmed, m.blind = true, false, false
	m.view, m.ahead, m.unsettled = nil, nil, nil
	m.tables.forgetAll()
	m.mlids = 0
	m.server().Groups(func(t *group.Table) {
		for g := range t.Groups() {
			if g.MLID.IsValid() {
				m.mlids = max(m.mlids, int(g.MLID-ib.FirstMLID)+1)
			}
		}
	})
}

// follow ends what only the master does.
func (m *Manager) follow() {
	m.leading, m.discovered = false, nil
	if m.keeper.memory != nil {
		m.keeper.memory.Follow()
	}
	m.server().Silence()
	clear(m.known)
}

// discover looks at the subnet without changing it.
func (m *Manager) discover(ctx context.Context) {
	o := m.cfg.Ask
	o.ClearChanges, o.PKeys = false, false
	v, err := subnet.Sweep(ctx, m.port, o)
	if err != nil {
		m.vote.do(func(e *election.Machine) { e.SweepFailed(time.Now(), err.Error()) })
		return
	}
	m.discovered = v
	m.met(ctx, v)
}

// place is where another manager may be.
type place struct {
	node *subnet.Node
	port uint8
}

// managers are the places where a view has other managers. Their LIDs are noted
// for Status.
func (m *Manager) managers(v *subnet.View) (places []place) {
	for _, n := range v.Nodes {
		for _, number := range n.Addressed() {
			x := &n.Ports[number]
			own := n.ID == v.Own.Node && uint16(number) == v.Own.Port
			if !own && n.Stale == 0 && x.Info.CapabilityMask&mad.CapIsSM != 0 {
				places = append(places, place{n, number})
			}
		}
	}
	lids := map[ib.GUID]ib.LID{}
	for _, p := range places {
		lids[p.node.Ports[p.port].GUID] = p.node.Ports[p.port].Info.LID
	}
	m.rivals.Store(&lids)
	return places
}

// met asks the managers that a sweep found who they are, and tells the machine.
func (m *Manager) met(ctx context.Context, v *subnet.View) {
	places := m.managers(v)
	var found []election.Peer
	next := 0
	take := func() (p place, ok bool) {
		if next == len(places) {
			return p, false
		}
		next++
		return places[next-1], true
	}
	request := func(p place) subnet.Request {
		return subnet.Request{Node: p.node, Path: p.node.Ports[p.port].Path, Method: mad.MethodGet, Attr: mad.AttrSMInfo}
	}
	done := func(p place, d *mad.Datagram, err error) error {
		if err == nil && d.Status() == mad.StatusOK {
			if info, err := mad.ParseSMInfo(d.Data()); err == nil {
				found = append(found, election.Peer{Port: p.node.Ports[p.port].GUID, Info: info, Path: p.node.Ports[p.port].Path})
			}
		}
		return nil
	}
	if _, err := subnet.Exchange(ctx, m.port, m.cfg.Ask, take, request, done); err != nil {
		m.vote.do(func(e *election.Machine) { e.SweepFailed(time.Now(), err.Error()) })
		return
	}
	m.vote.do(func(e *election.Machine) { e.Swept(time.Now(), found) })
}

// talk sends SMInfo to another manager, and tells the machine what came of it.
func (m *Manager) talk(a election.Action, method mad.Method, modifier uint32, info mad.SMInfo) {
	msg := &umad.Message{Address: umad.ByRoute(), Data: make([]byte, mad.Size)}
	d := msg.Datagram()
	d.SetHeader(mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: method, Attr: mad.AttrSMInfo, Modifier: modifier,
	})
	d.SetMKey(m.mkey)
	unanswered := func() { m.vote.do(func(e *election.Machine) { e.Unanswered(time.Now(), a.ID) }) }
	if err := d.SetPath(a.Peer.Path); err != nil {
		unanswered()
		return
	}
	info.AppendTo(d.Data()[:0])
	err := m.port.Start(msg, m.cfg.Ask.Call, func(answer *umad.Message, err error) {
		if err != nil {
			unanswered()
			return
		}
		got, err := mad.ParseSMInfo(answer.Datagram().Data())
		if err != nil {
			unanswered()
			return
		}
		m.vote.do(func(e *election.Machine) { e.Answered(time.Now(), a.ID, answer.Datagram().Status(), got) })
	})
	if err != nil {
		unanswered()
	}
}

// announce tells the master that the priority of this manager changed.
func (m *Manager) announce() {
	own, err := m.port.Info()
	if err != nil || !own.SMLID.IsUnicast() {
		return
	}
	n := mad.NewNotice(mad.TrapLocalChanges, mad.ProducerCA, mad.LocalChangesDetails{
		LID: own.LID, Other: true, CapabilityMask: own.Capabilities, Changes: mad.ChangedSMPriority,
	})
	n.IssuerLID = own.LID
	msg := &umad.Message{Address: umad.ToSMA(own.SMLID), Data: make([]byte, mad.Size)}
	d := msg.Datagram()
	d.SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodTrap, Attr: mad.AttrNotice})
	d.SetMKey(m.mkey)
	n.AppendTo(d.Data()[:0])
	err = m.port.Start(msg, m.cfg.Ask.Call, func(_ *umad.Message, err error) {
		if err != nil {
			m.cfg.Log.Warn("the master does not take the changed priority", "error", err)
		}
	})
	if err != nil {
		m.cfg.Log.Warn("the changed priority is not told", "error", err)
	}
}

// newVote makes the machine of the port.
func (m *Manager) newVote() (*vote, error) {
	info, err := m.port.Info()
	if err != nil {
		return nil, fmt.Errorf("subnet manager: %w", err)
	}
	return &vote{
		acted: make(chan struct{}, 1),
		machine: election.New(election.Config{
			GUID: info.PortGUID, Priority: m.cfg.Priority, Key: m.cfg.SMKey, Poll: m.cfg.Poll, Count: m.cfg.Polls,
		}),
	}, nil
}

// reregister tells whether the clients of a port are to join and subscribe
// again: those of ports that the manager has not set up before, unless it knows
// their groups from before.
func (m *Manager) reregister(guid ib.GUID) bool {
	return !m.cfg.NoReregister && !m.known[guid]
}
