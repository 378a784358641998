package opensm

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
)

// QoSOptions are how service levels share the links of one kind of port. What is
// not said is that of all kinds, and where they do not say it, OpenSM's.
type QoSOptions struct {
	MaxVLs    int // lanes to use, 1 to 15; 0 is not said
	HighLimit int // 0 to 255; -1 is not said
	// VLArbHigh and VLArbLow are up to 64 pairs of a lane and a weight, as in
	// 0:4,1:0; SLtoVL the lanes of up to 16 service levels. Empty is not said.
	VLArbHigh, VLArbLow, SLtoVL string
}

// QoSKinds are those of all kinds of ports, and of each.
type QoSKinds struct {
	All, Adapter, Port0, External, Router QoSOptions
}

func defaultQoSKinds() QoSKinds {
	o := QoSOptions{HighLimit: -1}
	return QoSKinds{o, o, o, o, o}
}

// byPrefix has the beginnings of the options' names.
func (k *QoSKinds) byPrefix() map[string]*QoSOptions {
	return map[string]*QoSOptions{"qos_": &k.All, "qos_ca_": &k.Adapter, "qos_sw0_": &k.Port0, "qos_swe_": &k.External, "qos_rtr_": &k.Router}
}

// options says how the value of each option is taken.
func (k *QoSKinds) options() map[string]func(string) error {
	options := map[string]func(string) error{}
	for prefix, o := range k.byPrefix() {
		maps.Copy(options, map[string]func(string) error{
			prefix + "max_vls":    integer(&o.MaxVLs, 0, 15),
			prefix + "high_limit": o.takeHighLimit,
			prefix + "vlarb_high": checked(&o.VLArbHigh, parseWeights),
			prefix + "vlarb_low":  checked(&o.VLArbLow, parseWeights),
			prefix + "sl2vl":      checked(&o.SLtoVL, parseLanes),
		})
	}
	return options
}

// Values gives the values of the options by their names.
func (k QoSKinds) Values() map[string]any {
	values := map[string]any{}
	for prefix, o := range k.byPrefix() {
		values[prefix+"max_vls"], values[prefix+"high_limit"] = o.MaxVLs, o.HighLimit
		values[prefix+"vlarb_high"], values[prefix+"vlarb_low"], values[prefix+"sl2vl"] = o.VLArbHigh, o.VLArbLow, o.SLtoVL
	}
	return values
}

func (o *QoSOptions) takeHighLimit(s string) error {
	if s == "-1" {
		o.HighLimit = -1
		return nil
	}
	if integer(&o.HighLimit, 0, 255)(s) != nil {
		return errors.New("want a number from -1 to 255")
	}
	return nil
}

// checked takes a text that can be parsed; none is no value.
func checked[T any](v *string, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		if _, err := parse(s); err != nil {
			return err
		}
		*v = s
		return nil
	}
}

// parseWeights reads the entries of an arbitration table.
func parseWeights(s string) (list []mad.VLWeight, err error) {
	for _, pair := range elements(s) {
		vl, weight, ok := strings.Cut(pair, ":")
		e := mad.VLWeight{}
		if !ok || integer(&e.VL, 0, 14)(strings.TrimSpace(vl)) != nil || integer(&e.Weight, 0, 255)(strings.TrimSpace(weight)) != nil {
			return nil, fmt.Errorf("%s: want a lane from 0 to 14, and after a colon a weight up to 255", shown(pair))
		}
		list = append(list, e)
	}
	if len(list) > 2*len(mad.VLArbitration{}) {
		return nil, fmt.Errorf("%d entries: want up to %d", len(list), 2*len(mad.VLArbitration{}))
	}
	return list, nil
}

// parseLanes reads the lanes of the first service levels.
func parseLanes(s string) (list []ib.VL, err error) {
	for _, e := range elements(s) {
		n, err := strconv.ParseUint(e, 0, 8)
		if err != nil || n > 15 {
			return nil, fmt.Errorf("%s: want a lane from 0 to 15", shown(e))
		}
		list = append(list, ib.VL(n))
	}
	if len(list) > len(mad.SLtoVLMapping{}) {
		return nil, fmt.Errorf("%d lanes: want up to %d", len(list), len(mad.SLtoVLMapping{}))
	}
	return list, nil
}

// elements are what commas separate; one may be at the end.
func elements(s string) (list []string) {
	s = strings.TrimSuffix(strings.TrimSpace(s), ",")
	if s == "" {
		return nil
	}
	for e := range strings.SplitSeq(s, ",") {
		list = append(list, strings.TrimSpace(e))
	}
	return list
}

// Rules are what the options say of each kind of port.
func (k QoSKinds) Rules() *plan.QoSRules {
	rules := plan.DefaultQoSRules()
	for _, kind := range []struct {
		rules *plan.LaneRules
		own   QoSOptions
	}{{&rules.Adapter, k.Adapter}, {&rules.Port0, k.Port0}, {&rules.External, k.External}, {&rules.Router, k.Router}} {
		k.All.apply(kind.rules)
		kind.own.apply(kind.rules)
	}
	return rules
}

// apply puts what is said into rules.
func (o *QoSOptions) apply(r *plan.LaneRules) {
	if o.MaxVLs > 0 {
		r.MaxVLs = o.MaxVLs
	}
	if o.HighLimit >= 0 {
		r.HighLimit = uint8(o.HighLimit)
	}
	// What cannot be parsed was refused when it was read.
	if list, err := parseWeights(o.VLArbHigh); err == nil && len(list) > 0 {
		r.High = list
	}
	if list, err := parseWeights(o.VLArbLow); err == nil && len(list) > 0 {
		r.Low = list
	}
	if lanes, err := parseLanes(o.SLtoVL); err == nil {
		copy(r.SLtoVL[:], lanes)
	}
}
