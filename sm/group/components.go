package group

import (
	"fmt"
	"strings"
)

// Components is the set of fields that a request gives. The bits are those of
// the component mask of MCMemberRecord (IBTA 1, 15.2.5.17): a mask converts.
type Components uint32

// The components.
const (
	HasMGID Components = 1 << iota
	HasPortGID
	HasQKey
	HasMLID
	HasMTUSelector
	HasMTU
	HasTClass
	HasPKey
	HasRateSelector
	HasRate
	HasLifetimeSelector
	HasLifetime
	HasSL
	HasFlowLabel
	HasHopLimit
	HasScope
	HasJoinState
	HasProxyJoin
)

// What a join and a leave must give, and what the join that creates a group
// must give as well.
const (
	JoinComponents   = HasMGID | HasPortGID | HasJoinState
	CreateComponents = JoinComponents | HasQKey | HasTClass | HasPKey | HasFlowLabel | HasSL
)

// Contain tells whether all of others are among c.
func (c Components) Contain(others Components) bool { return others&^c == 0 }

// selects tells whether a selector and its value are given, or a selector
// that needs none.
func (c Components) selects(selector, value Components, s Selector) bool {
	return c.Contain(selector|value) || c.Contain(selector) && s == Largest
}

var componentNames = [...]string{
	"MGID", "PortGID", "QKey", "MLID", "MTUSelector", "MTU", "TClass", "PKey",
	"RateSelector", "Rate", "LifetimeSelector", "Lifetime", "SL", "FlowLabel",
	"HopLimit", "Scope", "JoinState", "ProxyJoin",
}

// String lists the components: MGID,PortGID. Others stay a number.
func (c Components) String() string {
	var parts []string
	for i, name := range componentNames {
		if c&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if rest := c >> len(componentNames) << len(componentNames); rest != 0 {
		parts = append(parts, fmt.Sprintf("%#x", uint32(rest)))
	}
	return strings.Join(parts, ",")
}
