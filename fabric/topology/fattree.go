package topology

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var fatTreeKind = kind{
	name: "fat-tree",
	usage: `fat-tree:k=K[,levels=3|2][,hosts=K/2]
A tree of switches with K ports, K even.
levels=3: K pods of K/2 leaves and K/2 aggregation switches, each leaf to all
of its pod's aggregations, and (K/2)^2 cores; aggregation j of each pod to the
cores j*K/2 .. j*K/2+K/2-1. Indices: leaves by pod, aggregations by pod, cores.
levels=2: K leaves, each to all of K/2 spines.
hosts: end nodes on each leaf.`,
	parse: parseFatTree,
}

// fatTree is a k-ary tree of two or three levels.
type fatTree struct{ k, levels, hosts int }

func parseFatTree(a *spec.Args) shape {
	t := fatTree{k: a.Need("k", 2, fabric.MaxPorts), levels: 3}
	if t.k%2 != 0 {
		a.Failf("k", "want an even number")
	}
	if a.Word("levels", "3", "2") == "2" {
		t.levels = 2
	}
	t.hosts = a.Int("hosts", t.k/2, 1, fabric.MaxPorts)
	return t
}

func (t fatTree) size() size {
	k, half := t.k, t.k/2
	s := size{switches: k + half, cables: k * half, hosts: k * t.hosts, ports: max(k, half+t.hosts)}
	if t.levels == 3 {
		s.switches = 2*k*half + half*half
		s.cables = 2 * k * half * half
		s.hosts = k * half * t.hosts
	}
	return s
}

func (t fatTree) wire(w *wiring) {
	if t.levels == 2 {
		t.wire2(w)
		return
	}
	half := t.k / 2
	leaves := t.addPods(w, "leaf", t.hosts)
	aggs := t.addPods(w, "agg", 0)
	core := len(w.names)
	for i := range half * half {
		w.add(fmt.Sprintf("core-%0*d", digits(half*half), i), 0, 0)
	}
	for leaf := range t.k * half {
		for j := range half {
			w.join(leaves+leaf, aggs+leaf/half*half+j)
		}
	}
	for agg := range t.k * half {
		for i := range half {
			w.join(aggs+agg, core+agg%half*half+i)
		}
	}
}

// addPods adds half a pod's switches for each pod, and gives the first.
func (t fatTree) addPods(w *wiring, name string, hosts int) int {
	first := len(w.names)
	for pod := range t.k {
		for i := range t.k / 2 {
			w.add(fmt.Sprintf("%s-p%0*d-%0*d", name, digits(t.k), pod, digits(t.k/2), i), 0, hosts)
		}
	}
	return first
}

func (t fatTree) wire2(w *wiring) {
	for i := range t.k {
		w.add(fmt.Sprintf("leaf-%0*d", digits(t.k), i), 0, t.hosts)
	}
	for i := range t.k / 2 {
		w.add(fmt.Sprintf("spine-%0*d", digits(t.k/2), i), 0, 0)
	}
	for leaf := range t.k {
		for spine := range t.k / 2 {
			w.join(leaf, t.k+spine)
		}
	}
}
