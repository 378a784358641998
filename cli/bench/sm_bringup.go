package bench

import (
	"context"
	"fmt"
	"time"

	"heddle/fabric"
	"heddle/mad"
	"heddle/sm/subnet"
	"heddle/umad"
)

// managedUp is one bring-up of a subnet.
type managedUp struct {
	time    time.Duration // from the manager's start until it said that all is up
	smps    int           // that it sent until then
	manager usage
}

func managedUpMetrics() []metric[managedUp] {
	return []metric[managedUp]{
		{"time to subnet up", "s", func(b managedUp) float64 { return b.time.Seconds() }},
		{"SMPs", "", func(b managedUp) float64 { return float64(b.smps) }},
		{"manager's processor time", "s", func(b managedUp) float64 { return b.manager.cpu.Seconds() }},
		{"manager's peak memory", "MB", func(b managedUp) float64 { return float64(b.manager.peak) / 1e6 }},
	}
}

// BringUp has each manager in turn bring a fabric up, each time a new one, and
// returns figures of time, SMPs, and of what the managers used.
func (m *SM) BringUp(ctx context.Context, spec string) ([]Figure, error) {
	return m.bringUps(ctx, spec, m.Runs)
}

// Large is BringUp, once.
func (m *SM) Large(ctx context.Context, spec string) ([]Figure, error) {
	return m.bringUps(ctx, spec, 1)
}

func (m *SM) bringUps(ctx context.Context, spec string, runs int) ([]Figure, error) {
	s, err := m.stage(ctx, spec, m.Emulated)
	if err != nil {
		return nil, err
	}
	defer s.close()
	results := make([][]managedUp, len(s.managers))
	for run := range runs {
		for i, v := range s.managers {
			s.watch("%s: bring-up by %s, run %d of %d", spec, v.name, run+1, runs)
			err := s.manage(ctx, v, func(ctx context.Context, g *ground, sm *managing) error {
				b, err := s.broughtUp(ctx, g, sm)
				results[i] = append(results[i], b)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return figures(s.stage, "bring-up", results, managedUpMetrics()), nil
}

// manage starts a subnet and a manager, and lets f look at it when it is up.
func (s *smStage) manage(ctx context.Context, v manager, f func(context.Context, *ground, *managing) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g, err := s.ground(ctx)
	if err != nil {
		return err
	}
	defer g.stop()
	sm, err := v.start(ctx, s, g)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	defer sm.Stop()
	if err := f(ctx, g, sm); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	return nil
}

// broughtUp is what a bring-up took. That all links are Active is an error
// where they are not.
func (s *smStage) broughtUp(ctx context.Context, g *ground, sm *managing) (b managedUp, err error) {
	b.time, b.smps = sm.took, sm.sent
	if b.manager, err = usageOf(sm.PID()); err != nil {
		return b, err
	}
	switch {
	case g.live != nil:
		stats, _ := g.stats()
		b.smps = int(stats.SMPs)
	case !sm.ours:
		sent, err := s.smpsSent(ctx, &running{socketName: g.name})
		if err != nil {
			return b, err
		}
		b.smps = int(sent)
	}
	port, err := s.port(g, 1)
	if err != nil {
		return b, err
	}
	defer port.Close() //nolint:errcheck // all is said
	_, err = s.look(ctx, port)
	return b, err
}

// port opens the port of an adapter, of the emulated subnet without sockets.
func (s *smStage) port(g *ground, adapter int) (*umad.Port, error) {
	var dev umad.Device
	var err error
	if g.live != nil {
		dev, err = g.live.Open(s.adapter(adapter), 1)
	} else {
		dev, err = umad.OpenIBSim(g.name, s.adapter(adapter))
	}
	if err != nil {
		return nil, err
	}
	return umad.NewPort(dev), nil
}

// look looks at the subnet, whose links must all be Active.
func (s *smStage) look(ctx context.Context, port *umad.Port) (*subnet.View, error) {
	view, err := subnet.Sweep(ctx, port, subnet.Options{})
	if err != nil {
		return nil, err
	}
	if n, want := len(view.Nodes), s.fabric.NumNodes(); n != want {
		return nil, fmt.Errorf("%d of %d nodes are found", n, want)
	}
	for _, n := range view.Nodes {
		for i := range n.Ports {
			p := &n.Ports[i]
			if _, ok := view.Fabric.Peer(fabric.End{Node: n.ID, Port: uint16(i)}); ok && p.Info.PortState != mad.PortActive {
				return nil, fmt.Errorf("port %d of %s is %v when the manager says that all is up", i, n.Label(), p.Info.PortState)
			}
		}
	}
	return view, nil
}
