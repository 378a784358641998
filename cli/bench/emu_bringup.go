package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"heddle/fabric/format"
	"heddle/internal/peer"
	"heddle/mad"
	"heddle/umad"
)

// bringUp is one bring-up of a subnet by OpenSM.
type bringUp struct {
	time   time.Duration // from OpenSM's start to its SUBNET UP
	smps   uint32        // that OpenSM sent until then
	server usage         // the processor's time is that of the bring-up
	found  discovery
}

// discovery is one run of ibnetdiscover.
type discovery struct {
	time  time.Duration
	nodes int
}

// BringUp has OpenSM bring a fabric up, on each server in turn, each time on a
// new one, and returns figures of time, SMPs, and of what the servers used.
func (e *Emu) BringUp(ctx context.Context, spec string) ([]Figure, error) {
	return e.bringUps(ctx, spec, e.Runs, false, bringUpMetrics())
}

// Large is BringUp, once, and how long ibnetdiscover then takes.
func (e *Emu) Large(ctx context.Context, spec string) ([]Figure, error) {
	return e.bringUps(ctx, spec, 1, true, append(bringUpMetrics(),
		metric[bringUp]{"ibnetdiscover", "s", func(b bringUp) float64 { return b.found.time.Seconds() }},
		metric[bringUp]{"nodes that it found", "", func(b bringUp) float64 { return float64(b.found.nodes) }}))
}

func bringUpMetrics() []metric[bringUp] {
	return []metric[bringUp]{
		{"time to SUBNET UP", "s", func(b bringUp) float64 { return b.time.Seconds() }},
		{"SMPs sent", "", func(b bringUp) float64 { return float64(b.smps) }},
		{"SMPs a second", "1/s", func(b bringUp) float64 { return float64(b.smps) / b.time.Seconds() }},
		{"server's processor time", "s", func(b bringUp) float64 { return b.server.cpu.Seconds() }},
		{"server's peak memory", "MB", func(b bringUp) float64 { return float64(b.server.peak) / 1e6 }},
	}
}

func (e *Emu) bringUps(ctx context.Context, spec string, runs int, discover bool, metrics []metric[bringUp]) ([]Figure, error) {
	s, err := e.stage(ctx, spec, "opensm")
	if err != nil {
		return nil, err
	}
	defer s.close()
	results := make([][]bringUp, len(s.servers))
	for run := range runs {
		for i, v := range s.servers {
			e.watch("%s: OpenSM on %s, run %d of %d", spec, v.name, run+1, runs)
			b, err := s.bringUp(ctx, v, discover)
			if err != nil {
				return nil, fmt.Errorf("OpenSM on %s: %w", v.name, err)
			}
			results[i] = append(results[i], b)
		}
	}
	return figures(s, "bring-up by OpenSM", results, metrics), nil
}

// patience is how long one bring-up may take, and all that comes with it.
const patience = 20 * time.Minute

// bringUp starts a server and lets OpenSM bring its subnet up.
func (s *stage) bringUp(ctx context.Context, v server, discover bool) (b bringUp, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := s.start(ctx, v)
	if err != nil {
		return b, err
	}
	defer r.Stop()
	before, err := usageOf(r.PID())
	if err != nil {
		return b, err
	}
	sm, err := s.sweep(ctx, r, &b)
	if err != nil {
		return b, err
	}
	defer sm.Stop()
	if b.server, err = usageOf(r.PID()); err != nil {
		return b, err
	}
	b.server.cpu -= before.cpu
	if b.smps, err = s.smpsSent(ctx, r); err != nil || !discover {
		return b, err
	}
	b.found, err = s.discover(ctx, r)
	return b, err
}

// sweep starts OpenSM and times it until the subnet is up.
func (s *stage) sweep(ctx context.Context, r *running, b *bringUp) (*peer.OpenSM, error) {
	dir, err := os.MkdirTemp(r.dir, "opensm")
	if err != nil {
		return nil, err
	}
	start := time.Now()
	sm, err := peer.StartOpenSM(dir, r.socketName, s.adapter(0), "sweep_interval 0")
	if err != nil {
		return nil, err
	}
	if err := sm.WaitSubnetUp(ctx); err != nil {
		sm.Stop()
		return nil, err
	}
	b.time = time.Since(start)
	return sm, nil
}

// smpsSent asks OpenSM, from another node, for its count of what it did: the
// SMPs that it has sent.
func (s *stage) smpsSent(ctx context.Context, r *running) (uint32, error) {
	dev, err := umad.OpenIBSim(r.socketName, s.adapter(1))
	if err != nil {
		return 0, err
	}
	port := umad.NewPort(dev)
	defer port.Close() //nolint:errcheck // all is said
	info, err := port.Info()
	if err != nil {
		return 0, err
	}
	request := get(umad.ToSMA(info.SMLID), mad.ClassLID, mad.AttrSMInfo)
	answer, err := port.Call(ctx, request, umad.CallOptions{})
	if err != nil {
		return 0, err
	}
	sm, err := mad.ParseSMInfo(answer.Datagram().Data())
	return sm.ActCount, err
}

// get is a request for an attribute of a node.
func get(to umad.Address, class mad.Class, attr mad.AttrID) *umad.Message {
	m := &umad.Message{Address: to, Data: make([]byte, mad.Size)}
	m.Datagram().SetHeader(mad.Header{Class: class, ClassVersion: 1, Method: mad.MethodGet, Attr: attr})
	return m
}

func (s *stage) discover(ctx context.Context, r *running) (d discovery, err error) {
	dir, err := os.MkdirTemp(r.dir, "ibnetdiscover")
	if err != nil {
		return d, err
	}
	start := time.Now()
	out, err := peer.Diag(ctx, dir, r.socketName, s.adapter(1), "ibnetdiscover")
	if err != nil {
		return d, err
	}
	d.time = time.Since(start)
	found, _, err := format.Read(strings.NewReader(out), "ibnetdiscover", "ibnetdiscover")
	if err != nil {
		return d, err
	}
	d.nodes = found.NumNodes()
	return d, nil
}
