package topology

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var dragonflyKind = kind{
	name: "dragonfly",
	usage: `dragonfly:a=A,p=P,h=H[,g=A*H+1][,arrangement=palmtree|relative|absolute]
g groups of A routers; each router has P end nodes, a cable to each other router
of its group, and H global ports. Each pair of groups has one global cable.
Ports: local (ascending), global, end nodes. Global port k = i*H + j of group G
is port j of router i, and leads
  palmtree: to group (G-k-1) mod g, its port g-2-k
  relative: to group (G+k+1) mod g, its port g-2-k
  absolute: to group k, or k+1 from G on
With fewer groups than A*H+1 the global ports from g-1 on stay empty.`,
	parse: parseDragonfly,
}

// dragonfly is groups of routers, all to all within and between groups.
type dragonfly struct {
	a, p, h, g  int
	arrangement string
}

func parseDragonfly(a *spec.Args) shape {
	d := dragonfly{
		a: a.Need("a", 1, fabric.MaxPorts),
		p: a.Need("p", 1, fabric.MaxPorts),
		h: a.Need("h", 1, fabric.MaxPorts),
	}
	d.g = a.Int("g", d.a*d.h+1, 1, d.a*d.h+1)
	d.arrangement = a.Word("arrangement", "palmtree", "relative", "absolute")
	return d
}

func (d dragonfly) size() size {
	return size{
		switches: d.g * d.a,
		cables:   d.g*d.a*(d.a-1)/2 + d.g*(d.g-1)/2,
		hosts:    product(d.g, d.a, d.p),
		ports:    d.a - 1 + d.h + d.p,
	}
}

func (d dragonfly) wire(w *wiring) {
	for id := range d.g * d.a {
		name := fmt.Sprintf("router-g%0*d-%0*d", digits(d.g), id/d.a, digits(d.a), id%d.a)
		w.add(name, d.a-1+d.h, d.p)
	}
	for group := range d.g {
		d.wireLocal(w, group*d.a)
	}
	for group := range d.g {
		for k := range d.g - 1 {
			if to, port := d.global(group, k); to > group {
				w.joinAt(group*d.a+k/d.h, d.a+k%d.h, to*d.a+port/d.h, d.a+port%d.h)
			}
		}
	}
}

// wireLocal joins all routers of a group to each other: port j of router i
// leads to the router j-1 below it, and to router j from it on.
func (d dragonfly) wireLocal(w *wiring, first int) {
	for i := range d.a {
		for j := i + 1; j < d.a; j++ {
			w.joinAt(first+i, j, first+j, i+1)
		}
	}
}

// global tells which group and port the global port k of a group leads to.
func (d dragonfly) global(group, k int) (to, port int) {
	switch d.arrangement {
	case "relative":
		return (group + k + 1) % d.g, d.g - 2 - k
	case "absolute":
		if k < group {
			return k, group - 1
		}
		return k + 1, group
	default:
		return (group - k - 1 + d.g) % d.g, d.g - 2 - k
	}
}
