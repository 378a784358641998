package plan

import (
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/partition"
	"heddle/sm/subnet"
)

// PKeyRules say which P_Keys ports have.
type PKeyRules struct {
	// Partitions is the configuration; nil for partition.Default.
	Partitions *partition.Config
	// ManagerInAll makes the subnet manager's own port a full member of all
	// partitions, so that clients may ask it by the P_Key of any. OpenSM does
	// not: its port is in the partitions whose members name it.
	ManagerInAll bool
}

// Config is the configuration that holds.
func (r PKeyRules) Config() *partition.Config {
	if r.Partitions == nil {
		return partition.Default()
	}
	return r.Partitions
}

// ShortTableError is of a port whose P_Key table is too short.
type ShortTableError struct {
	Port   string // its label
	Length int
	// Missing are the P_Keys that found no place.
	Missing []ib.PKey
}

// Error names the port and the keys.
func (e *ShortTableError) Error() string {
	return fmt.Sprintf("%s: the P_Key table has %d entries, no room for %v", e.Port, e.Length, e.Missing)
}

// PKeys is the stage that writes the P_Key tables of all ports with a LID, of
// which the sweep read the tables, and the ports that cannot hold all of
// theirs. It writes the tables into the view. A key that a port has stays at
// its index, as programs of the port's node may have noted it; keys that are
// not wanted are removed.
func PKeys(v *subnet.View, r PKeyRules) (stage Stage, short []*ShortTableError) {
	r.Partitions = r.Config()
	stage.Name = "pkeys"
	for _, p := range addressed(v) {
		held := p.At().PKeys
		if len(held) < max(int(p.Node.Info.PartitionCap), 1) {
			continue // it did not tell all, and was named for it
		}
		table, missing := placeKeys(held, r.keys(facts(v, p)))
		if len(missing) > 0 {
			short = append(short, &ShortTableError{Port: p.Label(), Length: len(held), Missing: missing})
		}
		stage.SMPs = appendKeys(stage.SMPs, p, held, table)
		p.At().PKeys = table
	}
	return stage, short
}

// facts are what partitions go by.
func facts(v *subnet.View, p PortRef) partition.Port {
	facts := partition.Port{GUID: p.At().GUID, Own: v.Own == fabric.End{Node: p.Node.ID, Port: uint16(p.Port)}}
	switch p.Node.Info.NodeType {
	case mad.NodeSwitch:
		facts.Kind, facts.Own = partition.Switch, v.Own.Node == p.Node.ID
	case mad.NodeRouter:
		facts.Kind = partition.Router
	case mad.NodeCA:
	}
	return facts
}

// keys are those that a port should have.
func (r *PKeyRules) keys(port partition.Port) partition.Keys {
	k := r.Partitions.Resolve(port)
	if !port.Own || !r.ManagerInAll {
		return k
	}
	k.First |= fullMember
	var others []ib.PKey
	for _, p := range r.Partitions.Partitions() {
		if key := ib.PKey(p.Base) | fullMember; key != k.First {
			others = append(others, key)
		}
	}
	k.Others = others
	return k
}

const fullMember ib.PKey = 0x8000

// appendKeys appends the blocks of a table that are not as the port holds
// them.
func appendKeys(list []SMP, p PortRef, held, table []ib.PKey) []SMP {
	for first := 0; first < len(table); first += len(mad.PKeyTable{}) {
		var had, want mad.PKeyTable
		copy(had[:], held[first:])
		copy(want[:], table[first:])
		if had != want {
			block := uint16(first / len(want))
			list = append(list, set(p.Node, p.Port, mad.AttrPKeyTable, mad.PKeyTableModifier(0, block), want))
		}
	}
	return list
}

// placeKeys gives the table of a port that holds some keys, and those that
// found no place in it.
func placeKeys(held []ib.PKey, k partition.Keys) (table, missing []ib.PKey) {
	table = make([]ib.PKey, len(held))
	rest := keepKeys(table, held, append([]ib.PKey{k.First}, k.Others...))
	if table[0] == 0 || k.Insist {
		rest = placeFirst(table, k.First, rest)
	}
	for _, key := range rest {
		if i := slices.Index(table, 0); i >= 0 {
			table[i] = key
		} else {
			missing = append(missing, key)
		}
	}
	return table, missing
}

// placeFirst puts a key at index 0, and what stood there where the key was. It
// returns what is still to be placed.
func placeFirst(table []ib.PKey, key ib.PKey, rest []ib.PKey) []ib.PKey {
	displaced := table[0]
	if at := slices.Index(table, key); at >= 0 {
		table[at], table[0] = displaced, key
		return rest
	}
	table[0] = key
	rest = slices.DeleteFunc(rest, func(k ib.PKey) bool { return k == key })
	if displaced != 0 {
		rest = append(rest, displaced)
	}
	return rest
}

// keepKeys puts the wanted keys that are held at their indexes, and at the
// index of a key that is held a wanted one of the same partition. It returns
// the others.
func keepKeys(table, held, want []ib.PKey) (rest []ib.PKey) {
	for _, key := range want {
		if i := slices.Index(held, key); i >= 0 && key != 0 {
			table[i] = key
		} else {
			rest = append(rest, key)
		}
	}
	return slices.DeleteFunc(rest, func(key ib.PKey) bool {
		i := slices.IndexFunc(held, func(h ib.PKey) bool { return h != 0 && h.Base() == key.Base() })
		if i < 0 || table[i] != 0 {
			return false
		}
		table[i] = key
		return true
	})
}
