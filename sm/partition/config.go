package partition

import (
	"slices"

	"heddle/ib"
)

// DefaultBase is the low 15 bits of the P_Key of the partition that all ports
// are in.
const DefaultBase uint16 = 0x7FFF

// Config is partitions, and who is in them. It does not change, and may be
// used by many goroutines.
type Config struct {
	list   []*partition // in the order of their P_Keys
	groups []Group
	both   bool
}

// Partition is one of a Config.
type Partition struct {
	Name string
	// Base is the low 15 bits of its P_Keys.
	Base uint16
	// Index0 says that it belongs at the first index of its members' tables.
	Index0 bool
	// SL is the service level of its members' paths. OpenSM has it count only
	// with Options.QoS, and so does Read.
	SL ib.SL
}

// Group is a multicast group that exists without members. Its MGID is unique
// in the configuration.
type Group struct {
	MGID      ib.MGID
	PKey      ib.PKey // of a full member
	QKey      ib.QKey
	MTU       ib.MTU
	Rate      ib.Rate
	SL        ib.SL
	TClass    uint8
	FlowLabel uint32 // 20 bits
	HopLimit  uint8
}

// Kind is what a port belongs to, as the words for members tell it.
type Kind uint8

// The kinds of nodes.
const (
	Adapter Kind = iota
	Switch       // its port 0
	Router
	VirtualAdapter
)

// Port is what matters of a port.
type Port struct {
	GUID ib.GUID
	Kind Kind
	Own  bool // the subnet manager is there
}

// Keys are the P_Keys that a port should hold.
type Keys struct {
	// First belongs at index 0: the default partition's, or that of a partition
	// which asks for it.
	First ib.PKey
	// Insist says that a partition asks for it: what stands at index 0 has to
	// make room. Else the default partition's key, if another one of these is
	// there already, stays where it is.
	Insist bool
	// Others may stand anywhere. They are in the order of their low 15 bits,
	// limited before full.
	Others []ib.PKey
}

// Default is what holds where there is no file: all ports are full members of
// the default partition, which carries IP over InfiniBand.
func Default() *Config {
	b := newBuilder(Options{})
	b.fallBack()
	return b.config()
}

// Partitions are all partitions, in the order of their P_Keys.
func (c *Config) Partitions() []Partition {
	list := make([]Partition, len(c.list))
	for i, p := range c.list {
		list[i] = p.Partition
	}
	return list
}

// Groups are the groups that exist without members: those of one partition
// stand together, its broadcast groups first.
func (c *Config) Groups() []Group { return slices.Clone(c.groups) }

// Resolve gives the P_Keys of a port.
func (c *Config) Resolve(port Port) Keys {
	var all []ib.PKey
	first, rank := 0, 0 // a partition that asks for index 0 ranks above the default
	for _, p := range c.list {
		keys := p.keys(port, c.both)
		if own := 1 + btoi(p.Index0); len(keys) > 0 && (p.Index0 || p.Base == DefaultBase) && own >= rank {
			first, rank = len(all), own
		}
		all = append(all, keys...)
	}
	keys := Keys{First: all[first], Insist: rank > 1}
	keys.Others = slices.Delete(all, first, first+1)
	return keys
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// partition is a Partition with its members.
type partition struct {
	Partition
	generated bool // its P_Key was not given
	index0At  place
	rules     map[subject]rule
}

// subject is whom a rule is for: all of a word, or the port with a GUID.
type subject struct {
	word word
	guid ib.GUID
}

// word is a name for several ports.
type word uint8

const (
	oneGUID word = iota
	wordAll
	wordAdapters
	wordSwitches
	wordRouters
	wordVirtual
	wordSelf
)

// wordOf is the word for all ports of a kind.
var wordOf = [...]word{Adapter: wordAdapters, Switch: wordSwitches, Router: wordRouters, VirtualAdapter: wordVirtual}

// membership is how a port is in a partition.
type membership uint8

const (
	limited membership = 1 + iota
	full
	both
)

// rule is what the file says of a subject. Of the rules for a port that with
// the highest number counts.
type rule struct {
	number int
	membership
}

// keys are the P_Keys that a port has of a partition: none to two.
func (p *partition) keys(port Port, allowBoth bool) []ib.PKey {
	found := p.last(port)
	if p.Base == DefaultBase && port.Own && found != both {
		found = full
	}
	limitedKey := ib.PKey(p.Base)
	fullKey := fullOf(p.Base)
	switch {
	case found == 0:
		return nil
	case found == limited:
		return []ib.PKey{limitedKey}
	case found == both && allowBoth:
		return []ib.PKey{limitedKey, fullKey}
	default:
		return []ib.PKey{fullKey}
	}
}

func fullOf(base uint16) ib.PKey { return ib.PKey(base) | 0x8000 }

// last is what the last rule for a port says, 0 where there is none.
func (p *partition) last(port Port) membership {
	subjects := []subject{{guid: port.GUID}, {word: wordAll}}
	if int(port.Kind) < len(wordOf) {
		subjects = append(subjects, subject{word: wordOf[port.Kind]})
	}
	if port.Own {
		subjects = append(subjects, subject{word: wordSelf})
	}
	found := rule{number: -1}
	for _, s := range subjects {
		if r, ok := p.rules[s]; ok && r.number > found.number {
			found = r
		}
	}
	return found.membership
}
