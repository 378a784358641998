package plan

import (
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
)

// Held is what the tables of the switches hold, as far as their answers told:
// the answer to a Set or a Get is what counts, not what was asked for.
type Held struct {
	switches map[ib.GUID]*Switch
	tables   map[ib.GUID]map[tableKey]table
	nothing  Switch // is never written
}

// Block is a block of a switch's table, by the attribute and the modifier that
// name it.
type Block struct {
	Node     *subnet.Node
	Attr     mad.AttrID
	Modifier uint32
}

// Switch is what one switch holds.
type Switch struct {
	// LFT and MFT are by block; MFT by position and block. Nil is not known.
	LFT []*mad.LinearForwarding
	MFT [16][]*mad.MulticastForwarding
	// Info is the SwitchInfo that it answered last.
	Info mad.SwitchInfo
	// Reset says that it lost all that it held before it was seen: its multicast
	// table is empty where nothing else is known.
	Reset bool
}

// NewHeld is the state of knowing nothing.
func NewHeld() *Held {
	return &Held{switches: map[ib.GUID]*Switch{}, tables: map[ib.GUID]map[tableKey]table{}}
}

// Switch is what a switch is known to hold, which may be nothing, and is not to
// be changed. Asking changes nothing either, and so may be done by several
// goroutines at once.
func (h *Held) Switch(guid ib.GUID) *Switch {
	if s := h.switches[guid]; s != nil {
		return s
	}
	return &h.nothing
}

// written is what a switch holds, to be changed.
func (h *Held) written(guid ib.GUID) *Switch {
	s := h.switches[guid]
	if s == nil {
		s = &Switch{}
		h.switches[guid] = s
	}
	return s
}

// Forget forgets what a node holds: it was gone, and may have lost its power.
func (h *Held) Forget(guid ib.GUID) {
	delete(h.switches, guid)
	delete(h.tables, guid)
}

// Reset forgets what a switch held: it was reset since.
func (h *Held) Reset(guid ib.GUID) {
	h.Forget(guid)
	h.written(guid).Reset = true
}

// Unsure forgets one block of a table: a Set of it was not answered, and may have
// been done or not.
func (h *Held) Unsure(guid ib.GUID, attr mad.AttrID, modifier uint32) {
	s := h.written(guid)
	switch attr {
	case mad.AttrLinearForwarding:
		if int(modifier) < len(s.LFT) {
			s.LFT[modifier] = nil
		}
	case mad.AttrMulticastForwarding:
		number, position := mad.SplitMulticastModifier(modifier)
		if int(number) < len(s.MFT[position]) {
			s.MFT[position][number] = nil
		}
	default: // the rest is read in every sweep
	}
}

// Answered takes the answer to a Get or a Set of a table.
func (h *Held) Answered(guid ib.GUID, attr mad.AttrID, modifier uint32, data []byte) {
	s := h.written(guid)
	switch attr {
	case mad.AttrLinearForwarding:
		if block, err := mad.ParseLinearForwarding(data); err == nil && modifier < lftBlocks {
			s.LFT = put(s.LFT, int(modifier), block)
		}
	case mad.AttrMulticastForwarding:
		if block, err := mad.ParseMulticastForwarding(data); err == nil {
			number, position := mad.SplitMulticastModifier(modifier)
			s.MFT[position] = put(s.MFT[position], int(number), block)
		}
	case mad.AttrSwitchInfo:
		if info, err := mad.ParseSwitchInfo(data); err == nil {
			s.Info = info
		}
	default: // of what is not kept here
	}
}

// lftBlocks is how many blocks the unicast LIDs fill.
const lftBlocks = 0xC000 / 64

func put[T any](table []*T, i int, v T) []*T {
	for len(table) <= i {
		table = append(table, nil)
	}
	if table[i] == nil {
		table[i] = new(T)
	}
	*table[i] = v
	return table
}
