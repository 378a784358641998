package mad

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
)

// saTsharkNames are the fields that tshark calls by another name; none where it
// does not show them. What it does not show, saquery does (TestSaqueryReadsUs),
// but for the ServiceID of a MultiPathRecord.
var saTsharkNames = map[string]string{
	"PKey": "p_key", "QKey": "q_key", "Lifetime": "packetlifetime", "LifetimeSelector": "packetlifetimeselector",
	"Independence": "independenceselector", "SGIDs": "sdgid", "DGIDs": "",
	"Producer": "producertypevendorid", "Trap": "trapnumberdeviceid", "Toggle": "noticetoggle", "Count": "noticecount",
	"RespTime": "resptimevalue", "Path": "", "Details": "", "IssuerGID": "",
	"ServiceID": "", "QoSClass": "", "MemberCount": "",
}

// saTsharkFields are the fields of a struct as tshark shows them.
func saTsharkFields(v any) dissected {
	d := dissected{}
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		other, ok := saTsharkNames[name]
		switch f := value.Field(i); {
		case ok && other == "":
			continue
		case ok:
			name = other
			fallthrough
		default:
			d[strings.ToLower(name)] = saTsharkValues(f)
		}
	}
	return d
}

func saTsharkValues(f reflect.Value) []string {
	switch {
	case f.CanUint():
		return []string{fmt.Sprint(f.Uint())}
	case f.Kind() == reflect.Bool:
		return []string{fmt.Sprint(oneOrZero(f.Bool()))}
	case f.Kind() == reflect.Slice:
		var list []string
		for i := range f.Len() {
			list = append(list, fmt.Sprint(f.Index(i).Interface()))
		}
		return list
	default:
		return []string{fmt.Sprint(f.Interface())}
	}
}

// TestTsharkSA: tshark reads in our bytes what we wrote: the records that are
// ours from the first byte to the last, and the headers.
func TestTsharkSA(t *testing.T) {
	multi := saTsharkFields(sampleMultiPathRecord)
	multi["sdgid"] = saTsharkValues(reflect.ValueOf(slices.Concat(sampleMultiPathRecord.SGIDs, sampleMultiPathRecord.DGIDs)))
	cases := []struct {
		value Attribute
		attr  AttrID
		want  dissected
	}{
		{sampleMCMemberRecord, AttrMCMemberRecord, saTsharkFields(sampleMCMemberRecord)},
		{samplePathRecord, AttrPathRecord, saTsharkFields(samplePathRecord)},
		{sampleMultiPathRecord, AttrMultiPathRecord, multi},
		{sampleInformInfo, AttrInformInfo, saTsharkFields(sampleInformInfo)},
		{sampleNotice, AttrNotice, saTsharkFields(sampleNotice)},
	}
	header := SAHeader{
		RMPP:  RMPPHeader{Version: 1, Type: RMPPData, RespTime: 0x12, Flags: 7, Data1: 1},
		SMKey: 0x1122334455667788, ComponentMask: 0x8000000000000001,
	}
	var datagrams []*Datagram
	for i, c := range cases {
		d := new(Datagram)
		d.SetHeader(Header{Class: ClassSA, ClassVersion: 2, Method: MethodGetResp, TID: 7, Attr: c.attr})
		header.RMPP.Data2, header.AttributeOffset = uint32(saHeaderLen-rmppHeaderLen+c.value.Len()), RecordOffset(c.value)
		d.SetSAHeader(header)
		c.value.AppendTo(d.Data()[:0])
		datagrams = append(datagrams, d)
		cases[i].want.addHeader(header)
	}
	for i, got := range dissect(t, datagrams) {
		for name := range got {
			if _, ok := cases[i].want[name]; !ok {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(cases[i].want, got); diff != "" {
			t.Errorf("%T (-heddle +tshark):\n%s", cases[i].value, diff)
		}
	}
}

// addHeader adds the fields of the headers. Of RRespTime, tshark shows only the
// first 4 bits; Linux takes 5.
func (d dissected) addHeader(h SAHeader) {
	for name, v := range map[string]uint64{
		"rmppversion": uint64(h.RMPP.Version), "rmpptype": uint64(h.RMPP.Type), "rresptime": uint64(h.RMPP.RespTime >> 1),
		"rmppflags": uint64(h.RMPP.Flags), "rmppstatus": uint64(h.RMPP.Status), "segmentnumber": uint64(h.RMPP.Data1),
		"payloadlength": uint64(h.RMPP.Data2), "smkey": uint64(h.SMKey),
		"attributeoffset": uint64(h.AttributeOffset), "componentmask": uint64(h.ComponentMask),
	} {
		d[name] = []string{fmt.Sprint(v)}
	}
}

// TestTsharkTraps: tshark reads in the details of traps what we wrote. The
// names are of the specification; tshark shows wrongly the fields of trap 259,
// which OpenSM reads (TestTrapsAsOpenSMReadsThem).
func TestTsharkTraps(t *testing.T) {
	gid := ib.MustParseGID("fe80::1")
	cases := []struct {
		trap    TrapNumber
		details Details
		want    dissected
	}{
		{TrapGIDInService, GIDDetails{gid}, dissected{"gidaddr": {"fe80::1"}}},
		{TrapLinkState, LinkStateDetails{0x0102}, dissected{"lidaddr": {"258"}}},
		{TrapFlowControl, PortErrorDetails{0x0102, 7}, dissected{"lidaddr": {"258"}, "portno": {"7"}}},
		{
			TrapLocalChanges,
			LocalChangesDetails{LID: 0x0102, Other: true, Changes: ChangedNodeDescription | ChangedLinkSpeedEnabled},
			dissected{
				"lidaddr": {"258"}, "otherlocalchanges": {"1"}, "linkspeecenabledchange": {"1"},
				"linkwidthenabledchange": {"0"}, "nodedescriptionchange": {"1"},
			},
		},
		{TrapSystemImage, SystemImageDetails{0x0102, 0x1122}, dissected{"lidaddr": {"258"}, "systemimageguid": {"4386"}}},
		{
			TrapBadMKey,
			BadMKeyDetails{LID: 1, DrSLID: 2, Method: MethodSet, Attr: AttrPortInfo, Modifier: 3, MKey: 4, Truncated: true, HopCount: 5},
			dissected{
				"lidaddr": {"1"}, "drslid": {"2"}, "method": {"2"}, "attributeid": {"21"}, "attributemodifier": {"3"}, "mkey": {"4"},
				"drnotice": {"0"}, "drpathtruncated": {"1"}, "drhopcount": {"5"},
			},
		},
		{
			TrapBadQKey,
			BadKeyDetails{LID1: 1, LID2: 2, Key: 3, SL: 4, QP1: 5, QP2: 6, GID1: gid, GID2: gidA},
			dissected{
				"lidaddr1": {"1"}, "lidaddr2": {"2"}, "key": {"3"}, "sl": {"4"}, "qp1": {"5"}, "qp2": {"6"},
				"gidaddr1": {"fe80::1"}, "gidaddr2": {gidA.String()},
			},
		},
	}
	var datagrams []*Datagram
	for _, c := range cases {
		d := new(Datagram)
		d.SetHeader(Header{Class: ClassLID, ClassVersion: 1, Method: MethodTrap, TID: 7, Attr: AttrNotice})
		NewNotice(c.trap, ProducerCA, c.details).AppendTo(d.Data()[:0])
		datagrams = append(datagrams, d)
	}
	for i, got := range dissect(t, datagrams) {
		for name, want := range cases[i].want {
			if !slices.Equal(got[name], want) {
				t.Errorf("trap %v: we wrote %s %q, tshark reads %q", cases[i].trap, name, want, got[name])
			}
		}
	}
}
