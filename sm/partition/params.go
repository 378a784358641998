package partition

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/ib"
)

// params are the parameters of groups, as far as they were given.
type params struct {
	rate   ib.Rate // 0 for not given
	mtu    ib.MTU  // 0 for not given
	scopes uint16  // bits by scope
	sl     given[ib.SL]
	qkey   given[ib.QKey]
	tclass given[uint8]
	flow   given[uint32]
}

// given is a value of which zero is one as well.
type given[T any] struct {
	v  T
	ok bool
}

func (g given[T]) or(other T) T {
	if g.ok {
		return g.v
	}
	return other
}

// What holds where the file does not say: what the slowest links of old can do.
const (
	defaultMTU       = ib.MTU2048
	defaultRate      = ib.Rate10
	ipQKey           = ib.QKey(0x0B1B) // of IP over InfiniBand
	maxFlowLabel     = 1<<20 - 1
	hopsBeyondSubnet = 0xFF
)

// set takes an item; known tells whether it is a parameter at all.
func (p *params) set(it item) (known bool, err error) {
	switch strings.ToLower(it.name) {
	case "rate":
		return true, into(&p.rate, it.value, ib.ParseRate)
	case "mtu":
		return true, into(&p.mtu, it.value, ib.ParseMTU)
	case "sl":
		return true, take(&p.sl, it.value, ib.ParseSL)
	case "q_key":
		return true, take(&p.qkey, it.value, ib.ParseQKey)
	case "tclass":
		return true, take(&p.tclass, it.value, number[uint8]("TClass", 0xFF))
	case "flowlabel":
		return true, take(&p.flow, it.value, number[uint32]("FlowLabel", maxFlowLabel))
	case "scope":
		return true, p.addScope(it.value)
	default:
		return false, nil
	}
}

func (p *params) addScope(text string) error {
	v, err := number[ib.Scope]("scope", 0xF)(text)
	if err == nil && !v.IsValid() {
		err = fmt.Errorf("scope %q: want 1 to 14", text)
	}
	if err == nil {
		p.scopes |= 1 << v
	}
	return err
}

func into[T any](v *T, text string, parse func(string) (T, error)) error {
	parsed, err := parse(text)
	if err == nil {
		*v = parsed
	}
	return err
}

func take[T any](g *given[T], text string, parse func(string) (T, error)) error {
	err := into(&g.v, text, parse)
	g.ok = g.ok || err == nil
	return err
}

// number reads a decimal or hexadecimal number up to a limit.
func number[T ~uint8 | ~uint32](name string, limit uint64) func(string) (T, error) {
	return func(text string) (T, error) {
		v, ok := parseUint(text)
		if !ok || v > limit {
			return 0, fmt.Errorf("%s %q: want 0 to %#x", name, text, limit)
		}
		return T(v), nil
	}
}

// parseUint reads a decimal number, or a hexadecimal one after 0x.
func parseUint(text string) (v uint64, ok bool) {
	digits, base := text, 10
	if isHex(text) {
		digits, base = text[2:], 16
	}
	v, err := strconv.ParseUint(digits, base, 64)
	return v, err == nil
}

func isHex(text string) bool { return len(text) > 1 && strings.EqualFold(text[:2], "0x") }

// under is p where it says something, and else what other says. The traffic
// class is a partition's broadcast group's alone.
func (p params) under(other params) params {
	out := p
	if p.rate == 0 {
		out.rate = other.rate
	}
	if p.mtu == 0 {
		out.mtu = other.mtu
	}
	out.sl = given[ib.SL]{p.sl.or(other.sl.v), p.sl.ok || other.sl.ok}
	out.qkey = given[ib.QKey]{p.qkey.or(other.qkey.v), p.qkey.ok || other.qkey.ok}
	out.flow = given[uint32]{p.flow.or(other.flow.v), p.flow.ok || other.flow.ok}
	out.scopes |= other.scopes
	return out
}

// each yields the scopes, link-local where there are none.
func (p params) each(yield func(ib.Scope) bool) {
	scopes := p.scopes
	if scopes == 0 {
		scopes = 1 << ib.ScopeLinkLocal
	}
	for s := range ib.Scope(16) {
		if scopes&(1<<s) != 0 && !yield(s) {
			return
		}
	}
}

// group is a group of a partition with these parameters.
func (p params) group(mgid ib.MGID, base uint16) Group {
	g := Group{
		MGID: mgid, PKey: fullOf(base), MTU: p.mtu, Rate: p.rate,
		SL: p.sl.v, QKey: p.qkey.v, TClass: p.tclass.v, FlowLabel: p.flow.v,
	}
	if mgid.IsIPoIB() {
		g.QKey = p.qkey.or(ipQKey)
	}
	if g.MTU == 0 {
		g.MTU = defaultMTU
	}
	if g.Rate == 0 {
		g.Rate = defaultRate
	}
	if mgid.Scope() > ib.ScopeLinkLocal {
		g.HopLimit = hopsBeyondSubnet
	}
	return g
}
