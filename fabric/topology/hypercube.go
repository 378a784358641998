package topology

import (
	"fmt"

	"heddle/fabric/internal/spec"
)

var hypercubeKind = kind{
	name: "hypercube",
	usage: `hypercube:d=D[,e=1]
2^D switches with e end nodes each; switch s is cabled by port i+1 to the switch
whose index differs from s in bit i.`,
	parse: func(a *spec.Args) shape {
		return hypercube{dims: a.Need("d", 0, 20), hosts: parseHosts(a)}
	},
}

// hypercube is a mesh of size 2 in each dimension, with one port for each.
type hypercube struct{ dims, hosts int }

func (h hypercube) size() size {
	n := 1 << h.dims
	return size{switches: n, cables: n * h.dims / 2, hosts: product(n, h.hosts), ports: h.dims + h.hosts}
}

func (h hypercube) wire(w *wiring) {
	n := 1 << h.dims
	for id := range n {
		w.add(fmt.Sprintf("switch-%0*b", max(h.dims, 1), id), h.dims, h.hosts)
	}
	for id := range n {
		for bit := range h.dims {
			if id>>bit&1 == 0 {
				w.joinAt(id, bit+1, id|1<<bit, bit+1)
			}
		}
	}
}
