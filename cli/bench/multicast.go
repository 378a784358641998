package bench

import (
	"context"
	"fmt"
	"strings"

	"heddle/cli/compare"
	"heddle/fabric"
	"heddle/fabric/pattern"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/route"
)

// Multicast measures multicast messages through the emulated subnet, in virtual
// time: the same everywhere for a seed.
type Multicast struct {
	Hardware Hardware
	Seed     uint64
	// Messages is how many are measured of each case.
	Messages int
	Sizes    []int
	// Watch, where set, is told what runs.
	Watch func(what string)
}

// The experiments.
const (
	OfHeight  = "height"
	OfEFI     = "EFI"
	OfEngines = "engines"
)

// usualTree is the fabric of the paper's two experiments: 32 leaf switches with 16
// adapters each, and 16 switches above them.
const usualTree = "fat-tree:k=32,levels=2"

// perGroup is how many members the groups of the paper's experiments have.
const perGroup = 4

func (b *Multicast) watch(format string, args ...any) {
	if b.Watch != nil {
		b.Watch(fmt.Sprintf(format, args...))
	}
}

// build makes a fabric with links of the hardware's rate, where it tells none.
func (b *Multicast) build(spec string) (*fabric.Fabric, error) {
	if strings.Contains(spec, "rate=") {
		return topology.Generate(spec)
	}
	return topology.Generate(spec + ",rate=" + b.Hardware.Rate.String())
}

// Heights measures one group of four members: below one switch, and below four.
func (b *Multicast) Heights(ctx context.Context) ([]Latency, error) {
	f, err := b.build(usualTree)
	if err != nil {
		return nil, err
	}
	groups := []fabric.Group{{Members: f.EndPorts()[:perGroup]}, {Members: apart(f, perGroup)}}
	var list []Latency
	for _, size := range b.Sizes {
		for i, g := range groups {
			b.watch("height %d, %d bytes", i+1, size)
			x, err := b.one(ctx, f, g, size)
			if err != nil {
				return nil, err
			}
			x.Experiment, x.Case = OfHeight, fmt.Sprintf("height %d", i+1)
			if i > 0 {
				x.Paper = paperHeight(size)
			}
			list = append(list, x)
		}
	}
	compareLatencies(list)
	return list, nil
}

// apart are end ports of so many leaf switches, one of each.
func apart(f *fabric.Fabric, n int) (ends []fabric.End) {
	last := fabric.NoNode
	for _, e := range f.EndPorts() {
		if leaf, ok := f.Leaf(e); ok && leaf.Node != last && len(ends) < n {
			ends, last = append(ends, e), leaf.Node
		}
	}
	return ends
}

// paperHeight is the ratio of the means at heights 2 and 1 in the paper.
func paperHeight(size int) float64 {
	switch size {
	case 8:
		return 1.20
	case 2048:
		return 1.15
	}
	return 0
}

// one measures a group by itself.
func (b *Multicast) one(ctx context.Context, f *fabric.Fabric, g fabric.Group, size int) (Latency, error) {
	run, err := compare.Runs([]string{"fulb"}, nil)
	if err != nil {
		return Latency{}, err
	}
	net, err := compare.NewNetwork(f, nil)
	if err != nil {
		return Latency{}, err
	}
	return b.routed(ctx, net.Problem([]fabric.Group{g}), run[0], size, false)
}

// EFIs measures 1 to 128 groups of four neighbours each, or as many as there
// are, all on one tree: their messages go to all of them, as in the paper.
func (b *Multicast) EFIs(ctx context.Context, most int) ([]Latency, error) {
	f, err := b.build(usualTree)
	if err != nil {
		return nil, err
	}
	var list []Latency
	for _, size := range b.Sizes {
		for n := 1; n <= most && n*perGroup <= len(f.EndPorts()); n *= 2 {
			b.watch("%d groups on one tree, %d bytes", n, size)
			x, err := b.shared(ctx, f, n, size)
			if err != nil {
				return nil, err
			}
			x.Experiment, x.Case, x.Paper = OfEFI, fmt.Sprintf("EFI %d", n), paperEFI(n, size)
			list = append(list, x)
		}
	}
	compareLatencies(list)
	return list, nil
}

// paperEFI is what is known of the ratios of the means in the paper.
func paperEFI(n, size int) float64 {
	switch {
	case size == 2048 && n == 16:
		return 1.38
	case size == 2048 && n == 128:
		return 11.66
	}
	return 0
}

// shared measures groups that share the tree of all of their members.
func (b *Multicast) shared(ctx context.Context, f *fabric.Fabric, n, size int) (Latency, error) {
	ends := f.EndPorts()
	all := fabric.Group{Members: ends[:n*perGroup]}
	groups := make([]fabric.Group, n)
	mlids := make([]ib.MLID, n)
	for i := range groups {
		groups[i].Members = ends[i*perGroup : (i+1)*perGroup]
		mlids[i] = ib.FirstMLID + ib.MLID(i)
	}
	runs, err := compare.Runs([]string{"fulb"}, nil)
	if err != nil {
		return Latency{}, err
	}
	net, err := compare.NewNetwork(f, nil)
	if err != nil {
		return Latency{}, err
	}
	p := net.Problem([]fabric.Group{all})
	x, err := b.programmed(p, p.Route(runs[0]), func(ib.MLID) []ib.MLID { return mlids })
	if err != nil {
		return Latency{}, err
	}
	l := newLoad(x, b.Hardware, size, x.members(groups), mlids, false, b.Seed)
	return b.loaded(ctx, l, Latency{Fabric: usualTree, MaxEFI: n})
}

// programmed is a subnet with the tables of some trees.
func (b *Multicast) programmed(p *compare.Problem, r compare.Result, mlids func(ib.MLID) []ib.MLID) (*fabricOf, error) {
	if r.Error != "" {
		return nil, fmt.Errorf("%s: %s", r.Label(), r.Error)
	}
	of, err := route.AssignMLIDs(r.State, p.Demand)
	if err != nil {
		return nil, err
	}
	tables, err := route.NewMFTs(r.State, p.Demand, of)
	if err != nil {
		return nil, err
	}
	x, err := newFabric(p.Graph.Fabric(), b.Hardware, b.Seed)
	if err != nil {
		return nil, err
	}
	return x, x.write(tables, mlids)
}

// loaded runs a load.
func (b *Multicast) loaded(ctx context.Context, l *groupLoad, to Latency) (Latency, error) {
	if err := context.Cause(ctx); err != nil {
		return Latency{}, err
	}
	if len(l.flows) == 0 {
		return Latency{}, fmt.Errorf("%s, %s: no group has two members", to.Fabric, to.Pattern)
	}
	if l.run(b.Messages) {
		return l.measure(to), nil
	}
	to.Size, to.Groups, to.Window, to.Deadlock = l.size, l.groups, max(b.Hardware.Window, 1), len(l.subnet.Deadlock()) > 0
	if !to.Deadlock {
		return Latency{}, fmt.Errorf("%s, %s: messages are lost: %v", to.Fabric, to.Pattern, l.subnet.Data().Lost)
	}
	return to, nil
}

// routed measures the groups of a problem on the trees of an engine.
func (b *Multicast) routed(ctx context.Context, p *compare.Problem, run compare.Run, size int, rotate bool) (Latency, error) {
	r := p.Route(run)
	x, err := b.programmed(p, r, func(m ib.MLID) []ib.MLID { return []ib.MLID{m} })
	if err != nil {
		return Latency{}, err
	}
	groups := make([]fabric.Group, p.Demand.NumGroups())
	for i := range groups {
		groups[i] = p.Demand.Group(i)
	}
	mlids, err := route.AssignMLIDs(r.State, p.Demand)
	if err != nil {
		return Latency{}, err
	}
	l := newLoad(x, b.Hardware, size, x.members(groups), mlids, rotate, b.Seed)
	return b.loaded(ctx, l, Latency{Fabric: usualTree, MaxEFI: r.MaxEFI})
}

// Crowd is groups on a fabric.
type Crowd struct {
	Fabric, Pattern string
	// Window is as that of Hardware, which it replaces where it is not zero.
	Window int
}

// Crowds are those that are measured where none is named.
func Crowds() []Crowd {
	return []Crowd{
		{"fat-tree:k=16", "grid:32x32", 0},
		{"fat-tree:k=16", "random:512x8", 0},
		{"trimmed:supernodes=16,leaves=8,hosts=8,mids=4,tops=8", "grid:32x32,order=oblivious", 0},
		{"dragonfly:a=8,p=4,h=4", "grid:33x32,order=oblivious", 0},
		{"torus:8x8x8,e=2", "random:256x8", 0},
		{"torus:8x8x8,e=2", "random:256x8", 16},
	}
}

// Engines measures the trees of engines under the same load: all groups at
// once, whose members send in turn.
func (b *Multicast) Engines(ctx context.Context, c Crowd, runs []compare.Run) ([]Latency, error) {
	if c.Window > 0 {
		of := *b
		of.Hardware.Window = c.Window
		b = &of
	}
	f, err := b.build(c.Fabric)
	if err != nil {
		return nil, err
	}
	groups, err := pattern.Generate(f, c.Pattern)
	if err != nil {
		return nil, err
	}
	net, err := compare.NewNetwork(f, nil)
	if err != nil {
		return nil, err
	}
	p := net.Problem(groups)
	var list []Latency
	for _, size := range b.Sizes {
		for _, run := range runs {
			b.watch("%s, %s, %s, %d bytes", c.Fabric, c.Pattern, run.Label(), size)
			x, err := b.routed(ctx, p, run, size, true)
			if err != nil {
				return nil, err
			}
			x.Experiment, x.Fabric, x.Pattern, x.Case = OfEngines, c.Fabric, c.Pattern, run.Label()
			list = append(list, x)
		}
	}
	compareLatencies(list)
	return list, nil
}
