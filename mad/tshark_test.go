package mad

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/internal/testenv"
)

// frame wraps a datagram as it travels on an InfiniBand link: LRH, BTH, DETH,
// the datagram, and two checksums, which tshark does not check.
func frame(d *Datagram) []byte {
	vl, qp, qkey := byte(0xF0), uint32(0), uint32(0)
	if !d.Class().IsSMP() {
		vl, qp, qkey = 0, 1, 0x80010000
	}
	b := []byte{vl, 2, 0, 2, 0, 72, 0, 1, 0x64, 0, 0xFF, 0xFF}
	b = be.AppendUint32(b, qp)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint32(b, qkey)
	b = be.AppendUint32(b, qp)
	b = append(b, d[:]...)
	return append(b, make([]byte, 6)...)
}

// pcap is a capture file of frames as an InfiniBand analyser would record them:
// records of the extensible record format, type 21.
func pcap(datagrams []*Datagram) []byte {
	const magic, erf, headerLen, infiniBand = 0xa1b2c3d4, 197, 16, 21
	le := binary.LittleEndian
	var b []byte
	for _, v := range []uint32{magic, 4<<16 | 2, 0, 0, 65535, erf} {
		b = le.AppendUint32(b, v)
	}
	for _, d := range datagrams {
		f := frame(d)
		for _, v := range []uint32{0, 0, uint32(headerLen + len(f)), uint32(headerLen + len(f))} {
			b = le.AppendUint32(b, v)
		}
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, infiniBand, 4)
		b = be.AppendUint16(b, uint16(headerLen+len(f)))
		b = be.AppendUint16(b, 0)
		b = be.AppendUint16(b, uint16(len(f)))
		b = append(b, f...)
	}
	return b
}

// dissected are the fields of a frame by the last part of tshark's names, with
// their values in order: numbers in decimal, all else as tshark shows it.
type dissected map[string][]string

// dissect has tshark read datagrams, and returns of each the fields that tshark
// knows of InfiniBand.
func dissect(t *testing.T, datagrams []*Datagram) []dissected {
	t.Helper()
	file := filepath.Join(t.TempDir(), "datagrams.pcap")
	if err := os.WriteFile(file, pcap(datagrams), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testenv.Peer(t, "tshark"), "-r", file, "-T", "json", "--no-duplicate-keys")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	var packets []struct {
		Source struct {
			Layers struct {
				InfiniBand map[string]any `json:"infiniband"`
			} `json:"layers"`
		} `json:"_source"`
	}
	if err := json.Unmarshal(out, &packets); err != nil || len(packets) != len(datagrams) {
		t.Fatalf("%d packets of %d, %v", len(packets), len(datagrams), err)
	}
	var all []dissected
	for _, p := range packets {
		fields := dissected{}
		fields.add(p.Source.Layers.InfiniBand)
		all = append(all, fields)
	}
	return all
}

// headerFields are those of the headers, by the part of their names in the
// middle, which the comparison of attributes leaves out; and reserved bits.
var headerFields = []string{"lrh", "bth", "deth", "mad", "smplid", "reserved", "vcrc", "invariant", "variant", "capabilitymask"}

func (d dissected) add(tree map[string]any) {
	for name, value := range tree {
		parts := strings.Split(name, ".")
		switch value := value.(type) {
		case map[string]any:
			d.add(value)
		case string:
			d.addValue(parts, value)
		case []any:
			for _, v := range value {
				d.addValue(parts, fmt.Sprint(v))
			}
		}
	}
}

func (d dissected) addValue(parts []string, value string) {
	last := len(parts) - 1
	if last < 2 || last == 2 && slices.Contains(headerFields, parts[1]) || last > 2 {
		return
	}
	if n, err := strconv.ParseUint(value, 0, 64); err == nil {
		value = strconv.FormatUint(n, 10)
	}
	d[parts[last]] = append(d[parts[last]], value)
}

// fieldsOf is what tshark should show of an attribute: the fields of a struct
// by their names, and the columns of a table by tshark's.
func fieldsOf(v Attribute) dissected {
	d := dissected{}
	add := func(name string, value any) { d[name] = append(d[name], fmt.Sprint(value)) }
	switch v := v.(type) {
	case NodeDescription:
		add("nodestring", v)
	case GUIDInfo:
		for _, guid := range v {
			add("guid", uint64(guid))
		}
	case PKeyTable:
		for _, key := range v {
			add("membershiptype", oneOrZero(key.Full()))
			add("p_keybase", key.Base())
		}
	case SLtoVLMapping:
		for i := 0; i < len(v); i += 2 {
			add("sltovlhighbits", uint8(v[i]))
			add("sltovllowbits", uint8(v[i+1]))
		}
	case VLArbitration:
		for _, e := range v {
			add("vl", uint8(e.VL))
			add("weight", e.Weight)
		}
	case LinearForwarding:
		for _, port := range v {
			add("port", port)
		}
	case MulticastForwarding:
		for _, mask := range v[:16] { // tshark 4.0 reads only half of it
			add("portmask", mask)
		}
	default:
		addStruct(reflect.ValueOf(v), add)
	}
	if hops, ok := d["traphl"]; ok { // which tshark takes for reserved
		delete(d, "traphl")
		d["reserved"] = append([]string{"0"}, hops...)
	}
	return d
}

// addStruct adds the fields of a struct by tshark's names.
func addStruct(v reflect.Value, add func(name string, value any)) {
	renamed := map[string]string{
		"gidprefix": "guid", "enhancedport0": "enhancedportzero", "smkey": "sm_key",
		"mkey": "m_key", "mkeyleaseperiod": "m_keyleaseperiod", "mkeyprotectbits": "m_keyprotectbits",
		"mkeyviolations": "m_keyviolations", "pkeyviolations": "p_keyviolations", "qkeyviolations": "q_keyviolations",
	}
	for i := range v.NumField() {
		name := strings.ToLower(v.Type().Field(i).Name)
		if other, ok := renamed[name]; ok {
			name = other
		}
		switch f := v.Field(i); {
		case f.CanUint():
			add(name, f.Uint())
		case f.Kind() == reflect.Bool:
			add(name, oneOrZero(f.Bool()))
		default:
			add(name, f.Interface().(ib.GID))
		}
	}
}

// unknownToTshark are the fields that tshark 4.0 does not have. The programs of
// infiniband-diags 44 show them, with these exceptions, for which no program
// here speaks: the speeds that end with 2 are where libibmad of rdma-core 60
// has them, QP1Dropped is where OpenSM has it, and the last three counters of
// PortCountersExtended, which libumad2sim.so cuts off, are where libibmad has
// them.
var unknownToTshark = map[string][]string{
	"SwitchInfo": {"multicastfdbtop"},
	"PortInfo": {
		"multicastpkeytrapsuppressionenabled", "linkspeedextactive2", "linkspeedextsupported2", "linkspeedextenabled2",
		"capabilitymask2", "linkspeedextactive", "linkspeedextsupported", "linkspeedextenabled",
	},
	"PortCounters": {"counterselect2", "qp1dropped", "portxmitwait"},
	"PortCountersExtended": {
		"counterselect2", "symbolerrorcounter", "linkerrorrecoverycounter", "linkdownedcounter", "portrcverrors",
		"portrcvremotephysicalerrors", "portrcvswitchrelayerrors", "portxmitdiscards", "portxmitconstrainterrors",
		"portrcvconstrainterrors", "locallinkintegrityerrors", "excessivebufferoverrunerrors", "vl15dropped",
		"portxmitwait", "qp1dropped",
	},
}

// TestTshark: tshark reads in our bytes what we wrote.
func TestTshark(t *testing.T) {
	all := slices.DeleteFunc(samples(), func(s sample) bool {
		return s.attr == AttrPortInfoExtended || s.attr == AttrMlnxExtPortInfo // tshark 4.0 has neither
	})
	var datagrams []*Datagram
	for _, s := range all {
		d := new(Datagram)
		d.SetHeader(Header{Class: s.class, ClassVersion: 1, Method: MethodGetResp, TID: 7, Attr: s.attr, Modifier: 1})
		s.value.AppendTo(d.Data()[:0])
		datagrams = append(datagrams, d)
	}
	for i, got := range dissect(t, datagrams) {
		want := fieldsOf(all[i].value)
		for _, name := range unknownToTshark[all[i].name()] {
			if _, shown := got[name]; !shown {
				delete(want, name)
			}
		}
		delete(got, "p_keytableblock") // the whole once more
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-heddle +tshark):\n%s", all[i].name(), diff)
		}
	}
}
