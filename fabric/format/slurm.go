package format

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/fabric"
)

// slurm is a topology.conf for Slurm's tree plugin: first the leaf switches
// with their hosts, then the switches above them, level by level, each with
// those of the level below that it is cabled to. A host stands under the leaf
// of its first port only, as Slurm wants it; leaves that are left without a
// host are not listed.
var slurm = Format{
	Name:       "slurm",
	About:      "topology.conf for Slurm, written only",
	Extensions: []string{"topology.conf"},
	Write:      writeSlurm,
}

func writeSlurm(out io.Writer, f *fabric.Fabric) error {
	w := bufio.NewWriter(out)
	t := newSlurmTree(f)
	for _, id := range f.Switches() {
		if t.level[id] == 1 {
			fmt.Fprintf(w, "SwitchName=%s Nodes=%s\n", t.names[id], hostList(t.hosts[id]))
		}
	}
	for level := int32(2); level <= t.top; level++ {
		for _, id := range f.Switches() {
			if t.level[id] == level {
				fmt.Fprintf(w, "SwitchName=%s Switches=%s\n", t.names[id], hostList(t.below(id)))
			}
		}
	}
	return w.Flush()
}

// slurmTree is a fabric as Slurm sees it.
type slurmTree struct {
	f     *fabric.Fabric
	names map[fabric.NodeID]string
	hosts map[fabric.NodeID][]string
	// level is 1 for a leaf, 0 for what is not listed.
	level []int32
	top   int32
}

func newSlurmTree(f *fabric.Fabric) *slurmTree {
	t := &slurmTree{
		f: f, names: map[fabric.NodeID]string{}, hosts: map[fabric.NodeID][]string{},
		level: make([]int32, f.NumNodes()),
	}
	leaves := t.placeHosts()
	t.climb(leaves)
	t.nameSwitches()
	return t
}

// placeHosts puts each host under a leaf, and tells which switches have hosts
// on them at all.
func (t *slurmTree) placeHosts() (leaves map[fabric.NodeID]bool) {
	placed := map[string]bool{}
	leaves = map[fabric.NodeID]bool{}
	for _, end := range t.f.EndPorts() {
		n := t.f.Node(end.Node)
		leaf, ok := t.f.Leaf(end)
		if n.Aggregation || !ok {
			continue
		}
		leaves[leaf.Node] = true
		if host := HostName(n); !placed[host] {
			placed[host] = true
			t.hosts[leaf.Node] = append(t.hosts[leaf.Node], host)
		}
	}
	return leaves
}

// climb gives each switch its level: one more than the lowest of its
// neighbours.
func (t *slurmTree) climb(leaves map[fabric.NodeID]bool) {
	var queue []fabric.NodeID
	for _, id := range t.f.Switches() {
		if len(t.hosts[id]) > 0 {
			t.level[id] = 1
			queue = append(queue, id)
		}
	}
	for k := 0; k < len(queue); k++ {
		t.top = t.level[queue[k]]
		for _, peer := range t.f.Ports(queue[k]) {
			id := peer.Node
			if t.level[id] == 0 && t.f.Node(id).Kind == fabric.Switch && !leaves[id] {
				t.level[id] = t.top + 1
				queue = append(queue, id)
			}
		}
	}
}

// nameSwitches gives the listed switches names that Slurm can read, no two
// alike.
func (t *slurmTree) nameSwitches() {
	taken := map[string]bool{}
	for _, id := range t.f.Switches() {
		if t.level[id] == 0 {
			continue
		}
		n := t.f.Node(id)
		name := safeName(strings.TrimSpace(n.Name))
		if name == "" {
			name = safeName(n.ID)
		}
		for base, i := name+"_"+safeName(n.ID), 2; taken[name]; i++ {
			name, base = base, fmt.Sprintf("%s_%d", base, i)
		}
		taken[name] = true
		t.names[id] = name
	}
}

// below lists the switches of the next lower level that a switch is cabled to.
func (t *slurmTree) below(id fabric.NodeID) []string {
	var names []string
	for _, peer := range t.f.Ports(id) {
		if t.level[peer.Node] > 0 && t.level[peer.Node] == t.level[id]-1 {
			names = append(names, t.names[peer.Node])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// HostName is the name of the host of an adapter, made safe for Slurm: its
// description up to the name of the device, such as "node1" of "node1 HCA-1"
// or "node1 mlx5_0". A description of several words without a device is that
// of a card, not of a host: the name is then the node's ID.
func HostName(n fabric.Node) string {
	words := strings.Fields(n.Name)
	for i, word := range words {
		if i > 0 && isDevice(word) {
			return safeName(strings.Join(words[:i], " "))
		}
	}
	if len(words) == 1 {
		return safeName(words[0])
	}
	return safeName(n.ID)
}

func isDevice(word string) bool {
	for _, prefix := range [...]string{"HCA-", "mlx", "mthca", "hfi1_", "qib"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	return false
}

// safeName replaces what has a meaning in a hostlist or a configuration file.
func safeName(name string) string {
	return replaceBytes(name, func(c byte) byte {
		if isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '_'
	})
}
