package sm

import (
	"context"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/sm/plan"
	"heddle/sm/subnet"
	"heddle/umad"
)

// portTables are the tables of ports that the sweep did not read, for subnet
// administration: what is held of them, and what the ports answer.
type portTables struct {
	ctx    context.Context // of Run
	port   *umad.Port
	ask    subnet.Options
	tables *tables
	nodes  []*subnet.Node // their paths only: the rest is the manager's
}

func (m *Manager) portTables() *portTables {
	return &portTables{m.life, m.port, m.cfg.Ask, m.tables, m.view.Nodes}
}

// Table gives what is held.
func (x *portTables) Table(t admin.PortTable) (data [64]byte, known, ok bool) {
	guid := x.nodes[t.Node].GUID()
	x.tables.mu.RLock()
	defer x.tables.mu.RUnlock()
	held := x.tables.held
	if t.Attr == mad.AttrSLtoVLMapping && x.nodes[t.Node].IsSwitch() {
		in, out := mad.SplitSLtoVLModifier(t.Modifier)
		return held.Mapping(guid, in, out)
	}
	return held.Table(guid, t.Port, t.Attr, t.Modifier)
}

// Read asks ports.
func (x *portTables) Read(list []admin.PortTable) {
	get := make([]plan.SMP, len(list))
	for i, t := range list {
		get[i] = x.smp(t)
	}
	// What is not read is not known, whatever the reason.
	_, _ = x.tables.read(x.ctx, x.port, x.ask, get)
}

// Write sets a table.
func (x *portTables) Write(t admin.PortTable, data [64]byte) (ok bool) {
	set := x.smp(t)
	set.Data = data
	asked := false
	take := func() (*plan.SMP, bool) { first := !asked; asked = true; return &set, first }
	_, err := subnet.Exchange(x.ctx, x.port, x.ask, take, request, func(q *plan.SMP, d *mad.Datagram, err error) error {
		if err != nil {
			x.tables.doubt(q)
			return nil
		}
		x.tables.told(q, d)
		ok = d.Status() == mad.StatusOK
		return nil
	})
	return err == nil && ok
}

func (x *portTables) smp(t admin.PortTable) plan.SMP {
	return plan.SMP{Node: x.nodes[t.Node], Port: t.Port, Attr: t.Attr, Modifier: t.Modifier}
}

// read asks for tables of ports, and remembers what they told. It may be called
// by any goroutine.
func (t *tables) read(ctx context.Context, port *umad.Port, o subnet.Options, list []plan.SMP) (asked int, err error) {
	next := 0
	take := func() (*plan.SMP, bool) {
		for next < len(list) && list[next].Node.Stale > 0 {
			next++
		}
		if next == len(list) {
			return nil, false
		}
		next++
		return &list[next-1], true
	}
	request := func(q *plan.SMP) subnet.Request {
		return subnet.Request{Node: q.Node, Path: q.Path(), Method: mad.MethodGet, Attr: q.Attr, Modifier: q.Modifier}
	}
	done := func(q *plan.SMP, d *mad.Datagram, err error) error {
		if err == nil {
			t.told(q, d)
		}
		return nil
	}
	return subnet.Exchange(ctx, port, o, take, request, done)
}

// realias gives ports their aliases again that came without them.
func (m *Manager) realias(ctx context.Context, r *Report) error {
	aliases := m.server().Aliases()
	if len(aliases) == 0 {
		return nil
	}
	return m.run(ctx, r, m.tables.aliasStage(m.view, aliases))
}

func (t *tables) aliasStage(v *subnet.View, aliases map[ib.GUID][]ib.GUID) plan.Stage {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return plan.Aliases(v, aliases, t.held)
}

// base has the ports of groups be those that packets go to, where they joined
// by an alias.
func (p ports) base(aliases map[ib.GUID][]ib.GUID) {
	if len(aliases) == 0 {
		return
	}
	owner := map[ib.GUID]ib.GUID{}
	for port, table := range aliases {
		for _, alias := range table {
			owner[alias] = port
		}
	}
	delete(owner, 0)
	for _, list := range p {
		for _, gids := range [][]ib.GID{list.Receivers, list.Senders} {
			for i, gid := range gids {
				if port := owner[gid.GUID()]; port != 0 {
					gids[i] = ib.NewGID(gid.Prefix(), port)
				}
			}
		}
	}
}

var _ admin.PortTables = (*portTables)(nil)
