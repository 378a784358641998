package topology

import (
	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var singleKind = kind{
	name: "single",
	usage: `single:hosts=H
One switch with H end nodes.`,
	parse: func(a *spec.Args) shape { return single{hosts: a.Need("hosts", 1, fabric.MaxPorts)} },
}

// single is one switch.
type single struct{ hosts int }

func (s single) size() size { return size{switches: 1, hosts: s.hosts, ports: s.hosts} }

func (s single) wire(w *wiring) { w.add("switch", 0, s.hosts) }
