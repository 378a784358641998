package election

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/mad"
)

// TestOneMaster is the purpose of it all: whatever starts, stops, dies, is cut
// or lost, once it is quiet each island has one master, the best manager on
// it, and all others stand by under it. Two masters that reach each other are
// so for a sweep's interval at most.
func TestOneMaster(t *testing.T) { rapid.Check(t, checkOneMaster) }

// quiet is longer than all time limits of the managers of the test.
const quiet = 3 * time.Minute

func checkOneMaster(t *rapid.T) {
	w := &world{t: t, net: newNetwork(rapid.Uint64().Draw(t, "seed"))}
	w.net.takes = time.Duration(rapid.IntRange(1, 3000).Draw(t, "sweep")) * time.Millisecond
	w.net.delay = time.Duration(rapid.IntRange(1, 60).Draw(t, "delay")) * time.Millisecond
	for i := range rapid.IntRange(1, 5).Draw(t, "managers") {
		w.net.add(string(rune('a'+i)), Config{
			Priority: uint8(rapid.IntRange(0, 3).Draw(t, "priority")), Key: 1,
			Settle: 30 * time.Second, Hold: 5 * time.Second, HoldMax: 20 * time.Second,
		})
	}
	for _, m := range w.net.managers {
		if rapid.Bool().Draw(t, "starts") {
			m.begin()
		}
	}
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		w.step()
		w.run(time.Duration(rapid.IntRange(0, 12000).Draw(t, "ms")) * time.Millisecond)
	}
	w.net.loss = 0
	w.heal()
	w.run(quiet)
	for island := range len(w.net.managers) {
		w.check(island)
	}
}

type world struct {
	t     *rapid.T
	net   *network
	fault time.Time // when something went wrong last
}

// heal lets no manager be hung for good.
func (w *world) heal() {
	for _, m := range w.net.managers {
		if m.up && (m.hung || m.mute) {
			m.hung, m.mute = false, false
			m.Advance(w.net.now)
			m.look()
			m.act()
		}
	}
	w.fault = w.net.now
}

func (w *world) step() {
	m := rapid.SampledFrom(w.net.managers).Draw(w.t, "manager")
	w.fault = w.net.now
	switch what := rapid.SampledFrom([]string{"start", "start", "start", "start", "kill", "kill", "stop", "island", "loss", "priority", "hang", "mute", "heal"}).Draw(w.t, "what"); {
	case what == "loss":
		w.net.loss = float64(rapid.IntRange(0, 6).Draw(w.t, "loss")) / 10
	case what == "island":
		w.net.place(rapid.IntRange(0, len(w.net.managers)-1).Draw(w.t, "island"), m)
	case what == "heal":
		w.heal()
	case what == "start":
		m.begin()
	case !m.up:
	case what == "kill":
		m.kill()
	case what == "hang":
		m.hung = true
		m.sweep++
	case what == "mute":
		m.mute = true
	case what == "stop":
		m.Stop(w.net.now)
		m.act()
	case what == "priority":
		m.Configure(w.net.now, uint8(rapid.IntRange(0, 3).Draw(w.t, "priority")), 1)
		m.act()
	}
}

// run lets time pass, and looks for two masters all the while.
func (w *world) run(d time.Duration) {
	const step = 200 * time.Millisecond
	for end := w.net.now.Add(d); w.net.now.Before(end); {
		w.net.run(min(step, end.Sub(w.net.now)))
		for island := range len(w.net.managers) {
			w.checkTwo(island)
		}
	}
}

// checkTwo holds that two masters without a fault in the way are not so for
// longer than a sweep's interval and what one takes, and a poll.
func (w *world) checkTwo(island int) {
	masters := w.net.masters(island)
	bound := w.net.every + 2*w.net.takes + 2*time.Second
	if len(masters) < 2 || w.net.loss > 0 || w.net.now.Sub(w.fault) <= bound || slices.ContainsFunc(masters, isMute) {
		return
	}
	w.t.Fatalf("%s: %s and %s are masters, %v after the last fault", w.net.clock(), masters[0].name, masters[1].name, w.net.now.Sub(w.fault))
}

func isMute(m *manager) bool { return m.mute }

func (w *world) check(island int) {
	var best *manager
	for _, m := range w.net.managers {
		if !m.up || m.island != island || m.State() == mad.SMNotActive {
			continue
		}
		if best == nil || better(m.info, best.info, m.cfg.GUID, best.cfg.GUID) {
			best = m
		}
	}
	for _, m := range w.net.managers {
		if !m.up || m.island != island || m.State() == mad.SMNotActive {
			continue
		}
		p, ok := m.Master()
		switch {
		case m == best && m.State() != mad.SMMaster:
			w.t.Errorf("%s is the best, and %v", m.name, m.State())
		case m != best && (!ok || p.Port != best.cfg.GUID):
			w.t.Errorf("%s is %v under %v, while %s is the best", m.name, m.State(), p.Port, best.name)
		}
	}
}

// TestRandomEvents: whatever a machine is told, it keeps to its states, has no
// more than one HANDOVER under way, and a deadline while it is active.
func TestRandomEvents(t *testing.T) { rapid.Check(t, checkRandomEvents) }

func checkRandomEvents(t *rapid.T) {
	m := New(Config{GUID: 3, Priority: 5, Key: 1})
	now := time.Unix(0, 0)
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
		randomEvent(t, m, now)
		checkActions(t, m, m.Take())
		if _, ok := m.NextDeadline(); ok != (m.State() != mad.SMNotActive) {
			t.Fatalf("%v has a deadline: %v", m.State(), ok)
		}
		if len(m.past) > remembered || len(m.peers) > strangers || len(m.ops) > 2*len(m.peers)+2 {
			t.Fatalf("%d memories, %d peers, %d operations", len(m.past), len(m.peers), len(m.ops))
		}
	}
}

func checkActions(t *rapid.T, m *Machine, actions []Action) {
	for _, a := range actions {
		if (a.Kind == Ask || a.Kind == Tell) && (a.ID == 0 || a.Peer.Port == 0 || a.Peer.Port == 3 || len(a.Peer.Path) == 0) {
			t.Fatalf("%+v", a)
		}
		if a.Kind != Ask && a.Kind != Tell && a.Reason == "" {
			t.Fatalf("%v without a reason", a.Kind)
		}
	}
	handovers := 0
	for _, o := range m.ops {
		if o.control == mad.SMControlHandover {
			handovers++
		}
	}
	if handovers > 1 && m.State() == mad.SMMaster && !m.stopping {
		t.Fatalf("%d handovers under way", handovers)
	}
}

func randomEvent(t *rapid.T, m *Machine, now time.Time) {
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0:
		m.Start(now)
	case 1:
		m.Stop(now)
	case 2:
		m.Advance(now)
	case 3:
		m.Swept(now, rapid.SliceOfN(rapid.Custom(randomPeer), 0, 4).Draw(t, "found"))
	case 4:
		m.SweepFailed(now, "no reason")
	case 5:
		m.Programmed(now)
	case 6:
		m.Answered(now, randomID(t, m), rapid.SampledFrom([]mad.Status{0, 0, Refused}).Draw(t, "status"), randomPeer(t).Info)
	case 7:
		m.Unanswered(now, randomID(t, m))
	case 8:
		m.Configure(now, uint8(rapid.IntRange(0, 20).Draw(t, "priority")), mad.SMKey(rapid.IntRange(1, 2).Draw(t, "key")))
	default:
		c := mad.SMControl(rapid.IntRange(0, 6).Draw(t, "control"))
		m.Request(now, Request{Set: rapid.Bool().Draw(t, "set"), Control: c, Info: randomPeer(t).Info})
	}
}

func randomID(t *rapid.T, m *Machine) uint64 {
	return m.id - min(m.id, rapid.Uint64Range(0, 3).Draw(t, "back"))
}

func randomPeer(t *rapid.T) Peer {
	port := ib.GUID(rapid.IntRange(0, 5).Draw(t, "port"))
	path := rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "path")
	return Peer{Port: port, Path: path, Info: mad.SMInfo{
		GUID: port, SMKey: mad.SMKey(rapid.IntRange(1, 2).Draw(t, "key")),
		Priority: uint8(rapid.IntRange(4, 6).Draw(t, "priority")), SMState: mad.SMState(rapid.IntRange(0, 4).Draw(t, "state")),
		ActCount: uint32(rapid.IntRange(0, 2).Draw(t, "act")),
	}}
}
