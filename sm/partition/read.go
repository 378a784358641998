package partition

import (
	"fmt"
	"io"
	"strings"
)

// Options say how to read. Zero is OpenSM's default.
type Options struct {
	// Name is that of the file, for faults.
	Name string
	// AllowBoth gives members that are both full and limited two P_Keys
	// (allow_both_pkeys of opensm.conf).
	AllowBoth bool
	// QoS lets the groups of a partition take over its service level (qos of
	// opensm.conf); without it those that name none have level 0.
	QoS bool
}

// Read reads a partitions.conf. What is faulty is told and the rest used. The
// error is the reader's.
func Read(r io.Reader, o Options) (*Config, []Fault, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, fmt.Errorf("partitions: %w", err)
	}
	p := &parser{scanner: newScanner(string(text)), builder: newBuilder(o)}
	for p.peek() != endOfFile {
		p.statement()
	}
	if !p.defined {
		p.report(p.at, "no partition is defined: the default one has all ports as full members, as without a file")
		p.fallBack()
	}
	return p.config(), p.faults, nil
}

type parser struct {
	*scanner
	*builder
	defined bool
}

// definition is one of those that make up a partition, while it is read.
type definition struct {
	*partition
	params  params
	member  membership // of those without one of their own
	ipoib   bool
	at      place
	dropped bool // it has no P_Key that could be used
}

// statement reads a definition and what belongs to it.
func (p *parser) statement() {
	p.blank(true)
	start := p.at
	list, end := p.items(":;")
	switch {
	case end == ':':
		p.begin(list, start)
	case end == newline:
		p.report(start, "a group outside of a partition")
	case len(list) > 0:
		p.report(start, "no : between a partition and its members")
	}
}

func (p *parser) begin(list []item, at place) {
	p.defined = true
	d := p.define(list, at)
	for {
		list, end := p.items("\n;:")
		if end == ':' && !p.flags(d, list) {
			p.finish(d)
			p.report(list[0].at, "no ; between two partitions")
			d = p.define(list, list[0].at)
			continue
		}
		if end != ':' {
			p.properties(d, list)
		}
		if end == endOfFile {
			p.report(p.at, "no ; at the end of a partition")
		}
		if end == endOfFile || end == ';' {
			p.finish(d)
			return
		}
	}
}

// flags takes what stands before a colon among the members, if all of it says
// what the partition is.
func (p *parser) flags(d *definition, list []item) bool {
	for _, it := range list {
		if !isFlag(it) {
			return false
		}
	}
	for _, it := range list {
		p.flag(d, it)
	}
	return true
}

func isFlag(it item) bool {
	switch strings.ToLower(it.name) {
	case "", "indx0", "ipoib", "defmember":
		return true
	default:
		known, _ := new(params).set(it)
		return known
	}
}

// flag takes a word of a definition.
func (p *parser) flag(d *definition, it item) {
	switch strings.ToLower(it.name) {
	case "":
	case "indx0":
		d.Index0, d.index0At = true, it.at
	case "ipoib":
		d.ipoib = true
	case "defmember":
		d.member = p.membership(it)
	default:
		known, err := d.params.set(it)
		switch {
		case err != nil:
			p.report(it.where, "%v", err)
		case known && d.params.sl.ok && strings.EqualFold(it.name, "sl") && !p.o.QoS:
			p.report(it.at, "a partition's service level counts with qos only: the groups that name none have level 0")
		case !known:
			p.report(it.at, "%q: want indx0, ipoib, defmember, rate, mtu, sl, scope, Q_Key, TClass or FlowLabel", it.name)
		}
	}
}

// properties takes the members and groups of a line.
func (p *parser) properties(d *definition, list []item) {
	for i, it := range list {
		if isGroup(it) {
			p.addGroup(d, list[i:])
			return
		}
		if it.name != "" || it.has {
			p.addMember(d, it)
		}
	}
}

func (p *parser) membership(it item) membership {
	switch it.value {
	case "full":
		return full
	case "both":
		return both
	case "limited":
	default:
		p.report(it.where, "membership %q: want full, limited or both; it is limited", it.value)
	}
	return limited
}
