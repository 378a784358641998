package topology

import (
	"fmt"
	"math"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var trimmedKind = kind{
	name: "trimmed",
	usage: `trimmed:supernodes=S,leaves=L,hosts=H,mids=M,tops=T[,planes=1]
A trimmed fat tree: S supernodes of L leaves with H end nodes each and M mid
switches; each leaf to all mids of its supernode. Mid m is in plane m mod planes,
and each plane has T top switches, each cabled to all mids of the plane. From a
leaf to a top there are M/planes shortest paths.
Indices: leaves by supernode, mids by supernode, tops by plane.
A top has S*M/planes ports, which may be more than InfiniBand can number.`,
	parse: parseTrimmed,
}

var blueLightKind = kind{
	name: "bluelight",
	usage: `bluelight[:tops=8|16][,leaves=16x16|8x32]
A model of Sunway BlueLight: 34 supernodes of 16 leaves x 16 end nodes (or 8 x
32) and 8 mids; each mid to all 8 (or 16) tops. 8 shortest paths from a leaf to
a top. See trimmed.`,
	parse: parseBlueLight,
}

var taihuLightKind = kind{
	name: "taihulight",
	usage: `taihulight
A model of Sunway TaihuLight: 160 supernodes of 16 leaves x 16 end nodes and 8
mids; mid m in plane m mod 4, 8 tops a plane. 2 shortest paths from a leaf to a
top. See trimmed.`,
	parse: func(*spec.Args) shape {
		return trimmed{supernodes: 160, leaves: 16, hosts: 16, mids: 8, tops: 8, planes: 4}
	},
}

// trimmed is a trimmed fat tree; tops counts those of one plane.
type trimmed struct{ supernodes, leaves, hosts, mids, tops, planes int }

func parseTrimmed(a *spec.Args) shape {
	t := trimmed{
		supernodes: a.Need("supernodes", 1, math.MaxUint16),
		leaves:     a.Need("leaves", 1, fabric.MaxPorts),
		hosts:      a.Need("hosts", 1, fabric.MaxPorts),
		mids:       a.Need("mids", 1, fabric.MaxPorts),
		tops:       a.Need("tops", 1, fabric.MaxPorts),
		planes:     a.Int("planes", 1, 1, fabric.MaxPorts),
	}
	if t.mids%t.planes != 0 {
		a.Failf("planes", "want a divisor of mids")
	}
	for _, ports := range []int{t.mids + t.hosts, t.leaves + t.tops} {
		if ports > fabric.MaxPorts {
			a.Failf("mids", "a leaf or mid would have %d ports, %d are possible", ports, fabric.MaxPorts)
		}
	}
	return t
}

func parseBlueLight(a *spec.Args) shape {
	t := trimmed{supernodes: 34, leaves: 16, hosts: 16, mids: 8, tops: 8, planes: 1}
	if a.Word("tops", "8", "16") == "16" {
		t.tops = 16
	}
	if a.Word("leaves", "16x16", "8x32") == "8x32" {
		t.leaves, t.hosts = 8, 32
	}
	return t
}

func (t trimmed) size() size {
	return size{
		switches: t.supernodes*(t.leaves+t.mids) + t.planes*t.tops,
		cables:   t.supernodes * (t.leaves*t.mids + t.mids*t.tops),
		hosts:    t.supernodes * t.leaves * t.hosts,
		ports:    max(t.mids+t.hosts, t.leaves+t.tops, t.supernodes*t.mids/t.planes),
		beyond:   true,
	}
}

func (t trimmed) wire(w *wiring) {
	leaves := t.addAll(w, "leaf", t.leaves, t.hosts)
	mids := t.addAll(w, "mid", t.mids, 0)
	tops := len(w.names)
	for i := range t.planes * t.tops {
		w.add(fmt.Sprintf("top-%0*d-%0*d", digits(t.planes), i/t.tops, digits(t.tops), i%t.tops), 0, 0)
	}
	for leaf := range t.supernodes * t.leaves {
		for m := range t.mids {
			w.join(leaves+leaf, mids+leaf/t.leaves*t.mids+m)
		}
	}
	for mid := range t.supernodes * t.mids {
		plane := mid % t.mids % t.planes
		for i := range t.tops {
			w.join(mids+mid, tops+plane*t.tops+i)
		}
	}
}

// addAll adds n switches for each supernode, and gives the first.
func (t trimmed) addAll(w *wiring, name string, n, hosts int) int {
	first := len(w.names)
	for s := range t.supernodes {
		for i := range n {
			w.add(fmt.Sprintf("%s-s%0*d-%0*d", name, digits(t.supernodes), s, digits(n), i), 0, hosts)
		}
	}
	return first
}
