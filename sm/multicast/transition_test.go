package multicast_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/plan"
)

// TestNoMomentWithALoop lets groups and fabrics change at random, and walks the
// tables from every port after each single Set, in whatever order the Sets of a
// stage come: nothing loops, arrives twice or goes to a stranger, and ports that
// keep their way to each other do so at every moment.
func TestNoMomentWithALoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			c.step()
			c.transit(true)
			c.right()
		}
	})
}

// TestUnknownTables starts from switches that hold anything. What is promised is
// promised for what members send, once a plan is done.
func TestUnknownTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		c.soil()
		c.step()
		c.step()
		for range 3 {
			c.transit(false)
			c.right()
			c.step()
		}
	})
}

// TestJoinsKeepTheLeastHeight lets ports join, and some leave: no tree that grows
// is higher than it needs to be, however it came about.
func TestJoinsKeepTheLeastHeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		mlid := ib.LastMLID
		for _, guid := range rapid.SliceOfNDistinct(rapid.SampledFrom(c.ends), 2, 12, rapid.ID).Draw(t, "ports") {
			p := c.groups[mlid]
			p.Receivers = append(p.Receivers, ib.NewGID(ib.DefaultPrefix, guid))
			if n := len(p.Receivers); n > 3 && rapid.IntRange(0, 2).Draw(t, "leave") == 0 {
				c.groups[mlid] = group.Ports{Receivers: p.Receivers[1 : n-1]}
				c.r.Update(group.Batch{Changed: []ib.MLID{mlid}}, c.groups)
				p.Receivers = p.Receivers[1:]
			}
			c.groups[mlid] = p
			c.report = c.r.Update(group.Batch{Changed: []ib.MLID{mlid}}, c.groups)
			c.program()
			have, want := c.height(mlid), c.radius(mlid)
			if grown := c.report.Laid+c.report.Grafted > 0; grown && len(c.report.CutOff) == 0 && have != want {
				t.Fatalf("height %d with %v, want %d", have, p.Receivers, want)
			}
		}
	})
}

// height is that of a tree, in hops between switches: half of the longest way.
func (c *chaos) height(mlid ib.MLID) int {
	longest := 0
	for _, guid := range c.ends {
		if end, ok := c.end(guid); ok && slices.Contains(c.groups[mlid].Receivers, ib.NewGID(ib.DefaultPrefix, guid)) {
			got, err := c.walk(mlid, end)
			if err != nil {
				c.t.Fatal(err)
			}
			for _, text := range got {
				longest = max(longest, strings.Count(text, " ")-1)
			}
		}
	}
	return (longest + 1) / 2
}

// radius is the least that the height can be.
func (c *chaos) radius(mlid ib.MLID) int {
	g := route.NewGraph(c.fabric, route.Selection{MulticastOnly: true})
	h, err := route.NewHops(g, 1)
	if err != nil {
		c.t.Fatal(err)
	}
	var leaves []int32
	for _, gid := range c.groups[mlid].Receivers {
		end, _ := c.fabric.ByPortGUID(gid.GUID())
		if leaf, ok := c.fabric.Leaf(end); ok {
			leaves = append(leaves, g.Vertex(leaf.Node))
		}
	}
	return int(route.NewScanFinder(h).Find(leaves).Radius)
}

// chaos draws what happens to a world.
type chaos struct {
	*world
	t     *rapid.T
	whole *fabric.Fabric // of all that there may be
	now   *fabric.Fabric // of the same family
	ends  []ib.GUID
	mlids []ib.MLID
	rng   *rand.Rand
}

func newChaos(t *rapid.T) *chaos {
	n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
	form := rapid.SampledFrom([]func() string{
		func() string { return fmt.Sprintf("random:switches=%d,degree=%d,hosts=%d", n(2, 14), n(2, 5), n(1, 2)) },
		func() string { return fmt.Sprintf("torus:%dx%d,e=1", n(2, 4), n(2, 4)) },
		func() string { return fmt.Sprintf("ring:n=%d", n(3, 9)) },
		func() string { return "fat-tree:k=4" },
		func() string { return "dragonfly:a=2,p=1,h=1" },
		func() string { return fmt.Sprintf("random:switches=3,degree=2,hosts=%d", n(13, 16)) }, // two positions
	}).Draw(t, "form")()
	whole := generate(t, form)
	names := []string{"weave", "fulb", "minihop", "sssp-new"}
	e := engine(t, rapid.SampledFrom(names).Draw(t, "engine"), n(1, 2))
	now := whole
	if rapid.Bool().Draw(t, "part") { // the rest is new when it comes
		now = whole.Without([]fabric.NodeID{fabric.NodeID(n(0, whole.NumNodes()-1))}, []fabric.LinkID{fabric.LinkID(n(0, whole.NumLinks()-1))})
	}
	c := &chaos{t: t, whole: whole, now: now, world: newWorld(t, rebuilt(now), e)}
	for _, e := range whole.EndPorts() {
		c.ends = append(c.ends, whole.Port(e).GUID)
	}
	c.ends = append(c.ends, whole.Port(fabric.End{Node: whole.Switches()[0]}).GUID)
	for range n(1, 6) {
		c.mlids = append(c.mlids, ib.FirstMLID+ib.MLID(n(0, 70)))
	}
	slices.Sort(c.mlids)
	c.mlids = slices.Compact(c.mlids)
	c.rng = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	if rapid.Bool().Draw(t, "before") { // groups that are there at first
		c.update()
		c.program()
	}
	return c
}

// step changes groups, the fabric, or both.
func (c *chaos) step() {
	switch rapid.SampledFrom([]string{"groups", "groups", "fabric", "both", "reroute"}).Draw(c.t, "step") {
	case "groups":
		c.update()
	case "fabric":
		c.alter()
	case "both":
		c.update()
		c.alter()
	case "reroute":
		c.report = c.r.Reroute()
	}
}

func (c *chaos) update() {
	var b group.Batch
	for _, mlid := range c.mlids {
		switch rapid.SampledFrom([]string{"stay", "few", "few", "anew", "vanish"}).Draw(c.t, "group") {
		case "few":
			c.join(mlid, 2)
			b.Changed = append(b.Changed, mlid)
		case "anew":
			c.groups[mlid] = group.Ports{}
			c.join(mlid, len(c.ends))
			b.Changed = append(b.Changed, mlid)
		case "vanish":
			delete(c.groups, mlid)
			b.Vanished = append(b.Vanished, mlid)
		}
	}
	c.report = c.r.Update(b, c.groups)
}

// join lets up to so many ports change what they are in a group.
func (c *chaos) join(mlid ib.MLID, most int) {
	p := c.groups[mlid]
	for range rapid.IntRange(1, most).Draw(c.t, "changes") {
		gid := ib.NewGID(ib.DefaultPrefix, rapid.SampledFrom(c.ends).Draw(c.t, "port"))
		is := func(g ib.GID) bool { return g == gid }
		p.Receivers = slices.DeleteFunc(slices.Clone(p.Receivers), is)
		p.Senders = slices.DeleteFunc(slices.Clone(p.Senders), is)
		switch rapid.IntRange(0, 4).Draw(c.t, "role") {
		case 0:
		case 1:
			p.Senders = append(p.Senders, gid)
		default:
			p.Receivers = append(p.Receivers, gid)
		}
	}
	c.groups[mlid] = p
}

// alter takes nodes and links away, and others back. What comes back carries
// data only after the tables are programmed: its ports are not active before.
func (c *chaos) alter() {
	var nodes []fabric.NodeID
	var links []fabric.LinkID
	for range rapid.IntRange(0, 3).Draw(c.t, "links") {
		links = append(links, fabric.LinkID(rapid.IntRange(0, c.whole.NumLinks()-1).Draw(c.t, "link")))
	}
	if rapid.IntRange(0, 4).Draw(c.t, "node dies") == 0 {
		nodes = append(nodes, fabric.NodeID(rapid.IntRange(0, c.whole.NumNodes()-1).Draw(c.t, "node")))
	}
	still := c.now.Without(nodes, links)
	c.now = c.whole.Without(nodes, links)
	c.see(rebuilt(c.now))
	c.active = rebuilt(still)
}

// soil puts anything into the tables, which is not known.
func (c *chaos) soil() {
	c.held = plan.NewHeld()
	for _, id := range c.whole.Switches() {
		guid := c.whole.Node(id).GUID
		c.real[guid] = table{}
		for block := range uint16(3) {
			var b mad.MulticastForwarding
			for i := range b {
				b[i] = uint16(c.rng.Uint32() & c.rng.Uint32() >> 16)
			}
			c.real[guid][mad.MulticastModifier(block, 0)] = b
		}
	}
	c.see(rebuilt(c.now))
}

// way is from one port to another.
type way struct{ from, to ib.GUID }

// ways are those of all packets of an MLID from some ports.
func (c *chaos) ways(mlid ib.MLID, from []ib.GUID) (map[way]string, error) {
	all := map[way]string{}
	for _, guid := range from {
		end, ok := c.end(guid)
		if !ok {
			continue
		}
		got, err := c.walk(mlid, end)
		if err != nil {
			return all, fmt.Errorf("MLID %v from %v: %w", mlid, guid, err)
		}
		for to, text := range got {
			all[way{guid, to}] = text
		}
	}
	return all, nil
}

func (c *chaos) allWays() map[ib.MLID]map[way]string {
	all := map[ib.MLID]map[way]string{}
	for _, mlid := range c.mlids {
		ways, err := c.ways(mlid, c.ends)
		if err != nil {
			c.t.Fatal(err)
		}
		all[mlid] = ways
	}
	return all
}

// transit sends a plan, Set by Set. clean is false where the tables may be
// anything before the first stage is done.
func (c *chaos) transit(clean bool) {
	if clean || rapid.Bool().Draw(c.t, "read") {
		c.read()
	}
	p := c.r.Plan(c.held)
	if len(p.Stages) > 2 || p.Sets > 2*p.Cells || p.Cells > 0 && p.Sets < p.Cells {
		c.t.Fatalf("%d stages, %d Sets for %d cells", len(p.Stages), p.Sets, p.Cells)
	}
	if !clean {
		c.active = c.fabric
		for _, stage := range p.Stages {
			c.send([]plan.Stage{stage}, func() {
				if stage.Name == "mft-come" {
					c.fromMembers()
				}
			})
		}
		return
	}
	before, had := c.allWays(), c.allReceivers()
	var during []map[ib.MLID]map[way]string
	c.send(p.Stages, func() { during = append(during, c.allWays()) })
	after, have := c.allWays(), c.allReceivers()
	c.active = c.fabric
	for i, now := range during {
		for mlid, ways := range now {
			c.strangers(i, ways, had[mlid], have[mlid])
			c.lost(i, before[mlid], ways, after[mlid])
		}
	}
}

// fromMembers sends a packet from each member, which must not come twice.
func (c *chaos) fromMembers() {
	for _, mlid := range c.mlids {
		if _, err := c.ways(mlid, slices.Collect(maps.Keys(c.wanted(mlid)))); err != nil {
			c.t.Fatal(err)
		}
	}
}

// send sends the SMPs of stages, those of a stage in any order.
func (c *chaos) send(stages []plan.Stage, each func()) {
	for _, s := range stages {
		c.rng.Shuffle(len(s.SMPs), func(i, j int) { s.SMPs[i], s.SMPs[j] = s.SMPs[j], s.SMPs[i] })
		for i := range s.SMPs {
			c.write(&s.SMPs[i])
			each()
		}
	}
}

// allReceivers are by MLID the ports that the tables name.
func (c *chaos) allReceivers() map[ib.MLID]map[ib.GUID]bool {
	all := map[ib.MLID]map[ib.GUID]bool{}
	for _, mlid := range c.mlids {
		all[mlid] = map[ib.GUID]bool{}
		for _, guid := range c.ends {
			end, _ := c.whole.ByPortGUID(guid)
			leaf, ok := c.whole.Leaf(end)
			ports := c.entry(c.whole.Node(leaf.Node).GUID, mlid)
			all[mlid][guid] = ok && ports.Has(leaf.Port)
		}
	}
	return all
}

// strangers finds who is reached at one moment, but named neither before nor
// after.
func (c *chaos) strangers(i int, now map[way]string, had, have map[ib.GUID]bool) {
	for w := range now {
		if !had[w.to] && !have[w.to] {
			c.t.Fatalf("after Set %d: %v reaches %v, which is no member before or after", i, w.from, w.to)
		}
	}
}

// lost finds who is not reached at one moment, by a way that is there before and
// after.
func (c *chaos) lost(i int, before, now, after map[way]string) {
	for w, text := range after {
		if before[w] == text && now[w] != text {
			c.t.Fatalf("after Set %d: %v does not reach %v, as it did before and does after", i, w.from, w.to)
		}
	}
}

// right judges what is programmed: each receiver that is not cut off gets what
// each port sends, nobody else gets anything, and there is nothing left to do.
func (c *chaos) right() {
	if list := c.r.Unsettled(c.held); len(list) > 0 {
		c.t.Fatalf("not settled: %v", list)
	}
	for _, mlid := range c.mlids {
		want := c.wanted(mlid)
		ways, err := c.ways(mlid, slices.Collect(maps.Keys(want)))
		if err != nil {
			c.t.Fatal(err)
		}
		for w := range ways {
			if !want[w.to] {
				c.t.Fatalf("%v: %v gets what %v sends", mlid, w.to, w.from)
			}
		}
		for from := range maps.Keys(want) {
			for to, receives := range want {
				if _, ok := ways[way{from, to}]; !ok && receives && from != to {
					c.t.Fatalf("%v: %v does not get what %v sends\ncut off: %v", mlid, to, from, c.r.CutOff())
				}
			}
		}
	}
}

// wanted are the ports of a group that are not cut off, and whether they
// receive; none where there are fewer than two or no receiver.
func (c *chaos) wanted(mlid ib.MLID) map[ib.GUID]bool {
	want, receivers := map[ib.GUID]bool{}, 0
	cut := map[ib.GUID]bool{}
	for _, x := range c.r.CutOff() {
		cut[x.Port] = cut[x.Port] || x.MLID == mlid
	}
	for _, gid := range c.groups[mlid].Receivers {
		if !cut[gid.GUID()] {
			want[gid.GUID()] = true
			receivers++
		}
	}
	for _, gid := range c.groups[mlid].Senders {
		if !cut[gid.GUID()] {
			want[gid.GUID()] = false
		}
	}
	if len(want) < 2 || receivers == 0 {
		return nil
	}
	return want
}
