package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/fabric"
	"heddle/mad"
	"heddle/umad"
)

// windows are how many SMPs are outstanding at once, in the cases of
// Throughput.
func windows() []int { return []int{1, 4, 64} }

// targets is how many nodes Throughput asks at most.
const targets = 64

// flow is one run of Throughput.
type flow struct {
	rate      float64 // SMPs a second
	roundTrip time.Duration
	resent    uint64
}

func flowMetrics() []metric[flow] {
	return []metric[flow]{
		{"SMPs a second", "1/s", func(f flow) float64 { return f.rate }},
		{"round trip", "us", func(f flow) float64 { return float64(f.roundTrip.Nanoseconds()) / 1e3 }},
		{"SMPs sent again", "", func(f flow) float64 { return float64(f.resent) }},
	}
}

// Throughput asks nodes all over a fabric for their NodeInfo, by directed
// route, on each server in turn, and returns figures of how fast that goes.
func (e *Emu) Throughput(ctx context.Context, spec string) ([]Figure, error) {
	s, err := e.stage(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer s.close()
	ports, stop, err := s.ports(ctx)
	defer stop()
	if err != nil {
		return nil, err
	}
	var list []Figure
	for _, window := range windows() {
		results := make([][]flow, len(ports))
		for run := range e.Runs {
			for i, port := range ports {
				e.watch("%s: SMPs to %s, %d at once, run %d of %d", spec, s.servers[i].name, window, run+1, e.Runs)
				f, err := s.flow(ctx, port, window)
				if err != nil {
					return nil, fmt.Errorf("SMPs to %s: %w", s.servers[i].name, err)
				}
				results[i] = append(results[i], f)
			}
		}
		list = append(list, figures(s, fmt.Sprintf("SMPs, window %d", window), results, flowMetrics())...)
	}
	return list, nil
}

// ports starts the servers and opens a port on each; stop ends what was
// started, also where there is an error.
func (s *stage) ports(ctx context.Context) (ports []*umad.Port, stop func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stops []func()
	stop = func() {
		for _, f := range slices.Backward(stops) {
			f()
		}
	}
	for _, v := range s.servers {
		r, err := s.start(ctx, v)
		if err != nil {
			return nil, stop, err
		}
		stops = append(stops, r.Stop)
		dev, err := umad.OpenIBSim(r.socketName, s.adapter(0))
		if err != nil {
			return nil, stop, err
		}
		port := umad.NewPort(dev)
		stops = append(stops, func() { port.Close() }) //nolint:errcheck // all is said
		ports = append(ports, port)
	}
	return ports, stop, nil
}

// flow sends SMPs, so many at once as the window says.
func (s *stage) flow(ctx context.Context, port *umad.Port, window int) (flow, error) {
	requests, err := s.requests()
	if err != nil {
		return flow{}, err
	}
	before := port.Stats().Resent
	t := &traffic{port: port, requests: requests, left: s.SMPs, done: make(chan error, window+1)}
	t.roundTrips = make([]time.Duration, 0, s.SMPs)
	start := time.Now()
	if err := t.run(ctx, min(window, s.SMPs)); err != nil {
		return flow{}, err
	}
	took := time.Since(start)
	slices.Sort(t.roundTrips)
	return flow{
		rate:      float64(s.SMPs) / took.Seconds(),
		roundTrip: t.roundTrips[len(t.roundTrips)/2], resent: port.Stats().Resent - before,
	}, nil
}

// requests are for the NodeInfo of nodes that are spread over the fabric.
func (s *stage) requests() ([]*umad.Message, error) {
	from := s.fabric.Adapters()[0]
	routes := directedRoutes(s.fabric, from)
	var list []*umad.Message
	for i := range min(targets, len(routes)) {
		m := get(umad.ByRoute(), mad.ClassDirected, mad.AttrNodeInfo)
		if err := m.Datagram().SetPath(routes[i*len(routes)/min(targets, len(routes))]); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// directedRoutes are shortest routes, as the ports by which they leave each
// node, from an adapter to all nodes that it reaches.
func directedRoutes(f *fabric.Fabric, from fabric.NodeID) [][]uint8 {
	route := map[fabric.NodeID][]uint8{from: {}}
	routes := [][]uint8{{}}
	for queue := []fabric.NodeID{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != from && f.Node(at).Kind != fabric.Switch {
			continue
		}
		for e, peer := range f.Ports(at) {
			if _, seen := route[peer.Node]; seen {
				continue
			}
			route[peer.Node] = append(slices.Clone(route[at]), uint8(e.Port))
			routes = append(routes, route[peer.Node])
			queue = append(queue, peer.Node)
		}
	}
	return routes
}

// traffic is requests that are sent in turn. Its fields belong to the port's
// goroutine once run has sent the first.
type traffic struct {
	port       *umad.Port
	requests   []*umad.Message
	next, left int
	roundTrips []time.Duration
	done       chan error // told once by each lane
}

// run starts so many lanes as there may be requests at once, and waits.
func (t *traffic) run(ctx context.Context, window int) error {
	lanes := make([]lane, window)
	first := make([]*umad.Message, window)
	for i := range lanes {
		lanes[i].traffic = t
		lanes[i].answered = lanes[i].answer
		first[i] = t.take()
	}
	for i := range lanes {
		lanes[i].ask(first[i])
	}
	for range lanes {
		select {
		case err := <-t.done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// take is the next request, nil after the last.
func (t *traffic) take() *umad.Message {
	if t.left == 0 {
		return nil
	}
	t.left--
	t.next++
	return t.requests[t.next%len(t.requests)]
}

// lane sends one request after another.
type lane struct {
	*traffic
	sent     time.Time
	answered func(*umad.Message, error)
}

func (l *lane) ask(m *umad.Message) {
	l.sent = time.Now()
	if err := l.port.Start(m, umad.CallOptions{}, l.answered); err != nil {
		l.done <- err
	}
}

// answer is called with the answer to what was asked; calls do not overlap.
func (l *lane) answer(_ *umad.Message, err error) {
	if err != nil {
		l.done <- err
		return
	}
	l.roundTrips = append(l.roundTrips, time.Since(l.sent))
	if m := l.take(); m != nil {
		l.ask(m)
	} else {
		l.done <- nil
	}
}
