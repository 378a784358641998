package partition

import (
	"errors"
	"fmt"
	"strings"

	"heddle/ib"
)

// define begins a definition: the first item is the name and the P_Key, the
// others what the partition is.
func (p *parser) define(list []item, at place) *definition {
	d := &definition{member: limited, at: at}
	base, generated, err := p.base(list)
	if err != nil {
		p.report(at, "%v: the partition is left out", err)
		d.dropped, d.partition = true, &partition{rules: map[subject]rule{}}
	} else {
		p.warnGenerated(base, generated, at)
		d.partition = p.builder.partition(base, list[0].name)
		d.generated = d.generated || generated
	}
	for i, it := range list {
		if i > 0 {
			p.flag(d, it)
		}
	}
	return d
}

// base is the P_Key that a definition gives, or the lowest one that is free.
func (p *parser) base(list []item) (base uint16, generated bool, err error) {
	switch {
	case len(list) == 0:
		return 0, false, errors.New("no name and no P_Key before the colon")
	case list[0].has:
		key, err := ib.ParsePKey(list[0].value)
		return key.Base(), false, err
	case list[0].name == "Default":
		return DefaultBase, false, nil
	}
	for p.byBase[p.free] != nil && p.free < DefaultBase {
		p.free++
	}
	if p.free == DefaultBase {
		return 0, false, errors.New("all P_Keys are taken")
	}
	return p.free, true, nil
}

// warnGenerated tells of a P_Key that an earlier partition got since it named
// none.
func (p *parser) warnGenerated(base uint16, generated bool, at place) {
	if old := p.byBase[base]; old != nil && old.generated && !generated {
		p.report(at, "P_Key %#04x was given to partition %q, which names none: they are one now", base, old.Name)
	}
}

// finish notes the service level and the broadcast group, now that all of the
// definition was read.
func (p *parser) finish(d *definition) {
	if p.o.QoS && d.params.sl.ok {
		d.SL = d.params.sl.v
	}
	if d.ipoib && !d.dropped {
		p.asked[d.Base] = append(p.asked[d.Base], wish{params: p.shared(d), at: d.at})
	}
}

// shared is what the groups of a definition have in common.
func (p *parser) shared(d *definition) params {
	common := d.params
	if !p.o.QoS {
		common.sl = given[ib.SL]{}
	}
	return common
}

func (p *parser) addMember(d *definition, it item) {
	s, err := parseSubject(it.name)
	if err != nil {
		p.report(it.at, "%v", err)
		return
	}
	m := d.member
	switch {
	case it.value != "":
		m = p.membership(it)
	case it.has:
		m = limited
	}
	p.rule(d.partition, s, m)
}

// parseSubject reads a word for several ports, or a port's GUID.
func parseSubject(name string) (subject, error) {
	switch name {
	case "ALL":
		return subject{word: wordAll}, nil
	case "ALL_CAS":
		return subject{word: wordAdapters}, nil
	case "ALL_SWITCHES":
		return subject{word: wordSwitches}, nil
	case "ALL_ROUTERS":
		return subject{word: wordRouters}, nil
	case "ALL_VCAS":
		return subject{word: wordVirtual}, nil
	case "SELF":
		return subject{word: wordSelf}, nil
	}
	guid, ok := parseUint(name)
	if !ok || guid == 0 || strings.HasPrefix(name, "0") && !isHex(name) { // octal, or hexadecimal without 0x

		return subject{}, fmt.Errorf("member %q: want a port GUID as 0x and hexadecimal digits, or as a decimal number, "+
			"or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, ALL_VCAS or SELF", name)
	}
	return subject{guid: ib.GUID(guid)}, nil
}

// addGroup takes a group: its address and its parameters.
func (p *parser) addGroup(d *definition, list []item) {
	w := wish{at: list[0].where}
	mgid, err := ib.ParseMGID(list[0].value)
	if err != nil {
		p.report(w.at, "%v: the group is left out", err)
		return
	}
	w.mgid = mgid
	for _, it := range list[1:] {
		known, err := w.params.set(it)
		switch {
		case err != nil:
			p.report(it.where, "%v", err)
		case !known && it.name != "":
			p.report(it.at, "%q is no parameter of a group: members stand on a line of their own", it.name)
		}
	}
	w.params = w.params.under(p.shared(d))
	if w.params.scopes == 0 && mgid.Scope() != ib.ScopeLinkLocal {
		p.report(w.at, "no scope is named, so that the group is link-local and not %v as its address says", mgid.Scope())
	}
	if !d.dropped {
		p.asked[d.Base] = append(p.asked[d.Base], w)
	}
}
