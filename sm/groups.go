package sm

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// never is the alarm of a loop that does not look at the groups by itself.
const never = math.MaxInt64

// changed lets the loop know that groups changed, unless it looks at them anyway
// before their window can be over. Else it would wake up for each join.
func (m *Manager) changed() {
	if time.Now().Add(m.cfg.Window.Soonest()).UnixNano() < m.alarm.Load() {
		wake(m.joined)
	}
}

// watchGroups sets the timer by which the loop looks at the groups. Before it
// looks there is no alarm, so that what changes meanwhile is not missed.
func (m *Manager) watchGroups(timer *time.Timer) {
	m.alarm.Store(never)
	if !m.leading || m.view == nil || m.blind {
		return
	}
	at, ok := m.groupsDue()
	now := time.Now()
	next := now.Add(m.cfg.Window.Soonest())
	switch {
	case m.untold() && (!ok || at.After(next)):
		at = next
	case !ok:
		return
	case at.After(next) && at.Before(now.Add(m.cfg.Window.Quiet)):
		at = next // joins go on: see changed
	}
	timer.Reset(at.Sub(now))
	m.alarm.Store(at.UnixNano())
}

// groupsDue is when the groups are to be looked at again: at once where work
// waits and its window is over; ok is false where nothing waits.
func (m *Manager) groupsDue() (at time.Time, ok bool) {
	m.server().Groups(func(t *group.Table) {
		due := func(when time.Time, waits bool) {
			if waits && (!ok || when.Before(at)) {
				at, ok = when, true
			}
		}
		due(t.NextDeadline())
		for _, kind := range []group.Kinds{group.Changes, group.Completions, group.Vanishings} {
			due(m.cfg.Window.Due(t.Waiting(kind)))
		}
	})
	return at, ok
}

// serveGroups routes and programs the groups that changed, unless their window is
// not over.
func (m *Manager) serveGroups(ctx context.Context) error {
	if m.view == nil {
		return nil // the first sweep takes them
	}
	if at, ok := m.groupsDue(); ok && time.Now().Before(at) {
		m.tellGroups(ctx)
		return nil
	}
	before := m.stages
	var r Report
	mlids := m.takeGroups(ctx, &r)
	if mlids == 0 {
		return nil
	}
	err := m.program(ctx, &r)
	m.cfg.Log.Info("groups written", append([]any{"mlids", mlids, "failed", r.Failed}, m.stages.minus(before).attributes()...)...)
	m.routed(&r, before)
	return err
}

// takeGroups routes the groups that changed, and gives the number of their
// MLIDs.
func (m *Manager) takeGroups(ctx context.Context, r *Report) (mlids int) {
	var batch group.Batch
	src := ports{}
	m.server().Groups(func(t *group.Table) {
		now := time.Now()
		t.Advance(now)
		batch = t.Take(now, group.Everything)
		for _, mlid := range batch.Changed {
			src[mlid] = t.Ports(mlid, group.Ports{})
		}
	})
	m.tellGroups(ctx)
	if batch.ID == 0 {
		return 0
	}
	src.base(m.server().Aliases())
	m.told(m.update(batch, src), r)
	for _, list := range [][]ib.MLID{batch.Changed, batch.Vanished} {
		for _, mlid := range list {
			m.mlids = max(m.mlids, int(mlid-ib.FirstMLID)+1)
		}
	}
	m.batches = append(m.batches, batch)
	return len(batch.Changed) + len(batch.Vanished)
}

func (m *Manager) update(b group.Batch, src ports) multicast.Report {
	defer m.computing("multicast routing")()
	defer timed(&m.stages.Routing)()
	m.watches.begin()
	return m.router.Update(b, src)
}

// seenMLIDs is how many MLIDs, from the first on, may have entries in switches:
// those that were in use, and those up to which a switch says that it forwards.
func (m *Manager) seenMLIDs() int {
	n := m.mlids
	for _, id := range m.view.Fabric.Switches() {
		if top := m.view.Nodes[id].Switch.MulticastFDBTop; ib.MLID(top).IsValid() {
			n = max(n, int(ib.MLID(top)-ib.FirstMLID)+1)
		}
	}
	return n
}

// readSeen reads what switches hold that have come: one that was away may have
// entries that are not wanted any more. Those that stayed are asked only for
// what is to be written, when it is.
func (m *Manager) readSeen(ctx context.Context) error {
	mlids := m.seenMLIDs()
	if err := m.read(ctx, m.router.Ahead(m.tables.held, mlids, m.tables.walked), &m.stages.Reading); err != nil {
		return err
	}
	left := m.router.Ahead(m.tables.held, mlids, m.tables.walked) // was not answered
	for _, id := range m.view.Fabric.Switches() {
		m.tables.walked[m.view.Nodes[id].GUID()] = true
	}
	for _, b := range left {
		delete(m.tables.walked, b.Node.GUID())
	}
	return nil
}

// Of the first aheadMLIDs it is read ahead what switches hold, aheadChunk blocks
// at a time.
const (
	aheadMLIDs = 1024
	aheadChunk = 512
)

// planAhead lists what readAhead is to read. A block of which nothing is known
// must be read before it is written, so that nothing loops: who joins later need
// not wait for that. Those of the first MLIDs come first. Neighbours in the list
// are of different switches, which answer at the same time.
func (m *Manager) planAhead() {
	m.ahead = m.router.Ahead(m.tables.held, min(aheadMLIDs, multicastCap(m.view)), nil)
	m.ahead = slices.DeleteFunc(m.ahead, func(b plan.Block) bool { return b.Node.Stale > 0 })
	slices.SortStableFunc(m.ahead, func(a, b plan.Block) int {
		block, position := mad.SplitMulticastModifier(a.Modifier)
		block2, position2 := mad.SplitMulticastModifier(b.Modifier)
		return cmp.Or(cmp.Compare(block, block2), cmp.Compare(position, position2))
	})
}

// idle is ready as long as there is something to read ahead, and no group is soon
// to be routed.
func (m *Manager) idle() <-chan struct{} {
	if len(m.ahead) == 0 || !m.leading || m.alarm.Load() < time.Now().Add(m.cfg.Window.Bound).UnixNano() {
		return nil
	}
	ready := make(chan struct{})
	close(ready)
	return ready
}

// readAhead reads the next of the blocks that planAhead listed.
func (m *Manager) readAhead(ctx context.Context) error {
	chunk := m.ahead[:min(aheadChunk, len(m.ahead))]
	m.ahead = m.ahead[len(chunk):]
	return m.read(ctx, chunk, &m.stages.Ahead)
}

// ports is a multicast.Source of what was copied, so that joins need not wait
// for the routing.
type ports map[ib.MLID]group.Ports

func (p ports) Ports(mlid ib.MLID, into group.Ports) group.Ports {
	into = into.Reset()
	into.Receivers = append(into.Receivers, p[mlid].Receivers...)
	into.Senders = append(into.Senders, p[mlid].Senders...)
	return into
}

// told logs what routing did, and warns of engines that failed.
func (m *Manager) told(r multicast.Report, whole *Report) {
	m.showReach()
	for _, f := range r.Failures {
		m.warn(whole, EngineFailed, f.Error())
	}
	for _, c := range r.CutOff {
		m.cfg.Log.Warn("member cut off", "mlid", c.MLID, "port", c.Port, "why", c.Why)
	}
	m.cfg.Log.Debug("multicast routing", "engine", r.Engine, "laid", r.Laid, "grafted", r.Grafted, "kept", r.Kept)
}

// programTries is how often the switches are asked to take the multicast
// tables, before the next sweep.
const programTries = 3

// program brings the multicast tables of the switches to what they should be,
// and says so to the groups. Where a switch does not take its table, the batches
// with groups that it has entries of wait for the next sweep.
func (m *Manager) program(ctx context.Context, r *Report) error {
	for range programTries {
		if err := m.read(ctx, m.unknown(), &m.stages.Reading); err != nil {
			return err
		}
		if err := m.write(ctx, r, m.plan()); err != nil {
			return err
		}
		m.unsettled = m.router.Unsettled(m.tables.held)
		m.settledGroups(ctx)
		if len(m.unsettled) == 0 {
			return nil
		}
	}
	m.cfg.Log.Warn("multicast tables are not all written", "mlids", len(m.unsettled))
	return nil
}

// unknown lists the blocks to read before there can be a plan.
func (m *Manager) unknown() []plan.Block {
	defer timed(&m.stages.Planning)()
	return m.router.Unknown(m.tables.held)
}

// plan finds the way to the tables that are wanted.
func (m *Manager) plan() multicast.Plan {
	defer m.computing("the order of Sets")()
	defer timed(&m.stages.Planning)()
	return m.router.Plan(m.tables.held)
}

// write sends the stages of a plan. Of what switches did not take, the rest waits.
func (m *Manager) write(ctx context.Context, r *Report, p multicast.Plan) error {
	defer timed(&m.stages.Writing)()
	var missed missed
	for _, s := range p.Stages {
		s = missed.without(s)
		failed, err := m.send(ctx, &s)
		r.Sent += len(s.SMPs)
		r.Failed += len(failed)
		m.stages.Written += len(s.SMPs)
		if err != nil {
			return err
		}
		missed.add(failed)
	}
	return nil
}

// settledGroups tells the groups which batches are in the switches.
func (m *Manager) settledGroups(ctx context.Context) {
	waits := func(mlid ib.MLID) bool {
		_, found := slices.BinarySearch(m.unsettled, mlid)
		return found
	}
	m.server().Groups(func(t *group.Table) {
		m.batches = slices.DeleteFunc(m.batches, func(b group.Batch) bool {
			if slices.ContainsFunc(b.Changed, waits) || slices.ContainsFunc(b.Vanished, waits) {
				return false
			}
			t.Removed(time.Now(), b.ID)
			t.Programmed(time.Now(), b.ID)
			return true
		})
	})
	m.tellGroups(ctx)
}

// read asks for blocks of multicast tables of which it is not known what the
// switches hold.
func (m *Manager) read(ctx context.Context, blocks []plan.Block, stage *time.Duration) error {
	defer timed(stage)()
	m.stages.Read += len(blocks)
	return m.ask(ctx, blocks)
}

// ask reads blocks of tables.
func (m *Manager) ask(ctx context.Context, blocks []plan.Block) error {
	next := 0
	take := func() (b plan.Block, ok bool) {
		for next < len(blocks) && blocks[next].Node.Stale > 0 {
			next++ // when it answers again, a sweep follows
		}
		if next == len(blocks) {
			return b, false
		}
		next++
		return blocks[next-1], true
	}
	request := func(b plan.Block) subnet.Request {
		return subnet.Request{
			Node: b.Node, Path: b.Node.Path, Method: mad.MethodGet, Attr: b.Attr, Modifier: b.Modifier,
		}
	}
	done := func(b plan.Block, d *mad.Datagram, err error) error {
		if err == nil && d.Status() == mad.StatusOK {
			m.tables.answered(b.Node.GUID(), b.Attr, b.Modifier, d.Data())
		}
		return nil
	}
	_, err := subnet.Exchange(ctx, m.port, m.cfg.Ask, take, request, done)
	return err
}

// configured are the groups that partitions have without members.
func configured(r plan.PKeyRules) (list []group.Configured) {
	for _, g := range r.Config().Groups() {
		list = append(list, group.Configured{MGID: g.MGID, Params: group.Params{
			QKey: g.QKey, PKey: g.PKey, MTU: g.MTU, Rate: g.Rate, Lifetime: uint8(packetLifetime), SL: g.SL,
			TClass: g.TClass, HopLimit: g.HopLimit, FlowLabel: g.FlowLabel,
		}})
	}
	return list
}
