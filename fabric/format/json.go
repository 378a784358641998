package format

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"heddle/fabric"
	"heddle/ib"
)

// jsonFormat is heddle's own format. It holds all that a Fabric does, except
// that dead nodes and links are left out. Nodes and links keep their order.
//
//	{
//	"format": "heddle fabric", "version": 1,
//	"nodes": [
//	{"id": "S-0002c90300001234", "kind": "switch", "guid": "0x0002c90300001234", "name": "leaf 1", "ports": 36,
//	 "systemGuid": "0x...", "vendorId": 713, "deviceId": 4119, "enhancedPort0": true, "multicastCap": 1024,
//	 "portInfo": [{"port": 0, "guid": "0x0002c90300001234", "lid": 3, "lmc": 0}]},
//	{"id": "H-0002c90300005678", "kind": "adapter", ..., "aggregation": true}
//	],
//	"links": [
//	{"a": "S-0002c90300001234", "aPort": 7, "b": "H-0002c90300005678", "bPort": 1, "rate": "4xHDR"}
//	]
//	}
//
// kind is switch, adapter or router. What is zero, false or empty may be left
// out, except id, kind and a link's ends. A switch without multicastCap has
// one that is not known; 0 means no multicast. A name that is not UTF-8 stands
// as "nameHex" instead. A rate has "?" for a width or a speed that is not known.
// A member that is not named here is a fault.
var jsonFormat = Format{
	Name:       "json",
	About:      "heddle's own, the only one that loses nothing",
	Extensions: []string{".json"},
	Detect: func(head []byte) bool {
		head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
		if !bytes.HasPrefix(head, []byte("{")) {
			return false
		}
		head = bytes.TrimLeft(head[1:], " \t\r\n")
		return bytes.HasPrefix(head, []byte(`"`)) || bytes.HasPrefix(head, []byte("}"))
	},
	Read:  readJSON,
	Write: writeJSON,
}

const (
	jsonName    = "heddle fabric"
	jsonVersion = 1
)

type jsonNode struct {
	ID            string     `json:"id"`
	Kind          string     `json:"kind"`
	GUID          ib.GUID    `json:"guid,omitzero"`
	Name          string     `json:"name,omitempty"`
	NameHex       string     `json:"nameHex,omitempty"`
	Ports         uint16     `json:"ports,omitempty"`
	SystemGUID    ib.GUID    `json:"systemGuid,omitzero"`
	VendorID      uint32     `json:"vendorId,omitempty"`
	DeviceID      uint32     `json:"deviceId,omitempty"`
	EnhancedPort0 bool       `json:"enhancedPort0,omitempty"`
	Aggregation   bool       `json:"aggregation,omitempty"`
	MulticastCap  *int32     `json:"multicastCap,omitempty"`
	PortInfo      []jsonPort `json:"portInfo,omitempty"`
}

type jsonPort struct {
	Port uint16  `json:"port"`
	GUID ib.GUID `json:"guid,omitzero"`
	LID  uint16  `json:"lid,omitempty"`
	LMC  uint8   `json:"lmc,omitempty"`
}

type jsonLink struct {
	A     string      `json:"a"`
	APort uint16      `json:"aPort"`
	B     string      `json:"b"`
	BPort uint16      `json:"bPort"`
	Rate  ib.LinkRate `json:"rate,omitzero"`
}

func writeJSON(out io.Writer, f *fabric.Fabric) error {
	w := &jsonWriter{out: bufio.NewWriter(out)}
	ids := fileIDs{f: f, good: utf8.ValidString}
	fmt.Fprintf(w.out, "{\n\"format\": %q, \"version\": %d,\n\"nodes\": [", jsonName, jsonVersion)
	for i := range f.NumNodes() {
		if id := fabric.NodeID(i); f.NodeUp(id) {
			w.element(nodeToJSON(f, id, ids.of(id)))
		}
	}
	w.any = false
	fmt.Fprint(w.out, "\n],\n\"links\": [")
	for i := range f.NumLinks() {
		if id := fabric.LinkID(i); f.LinkUp(id) {
			l := f.Link(id)
			w.element(jsonLink{ids.of(l.A.Node), l.A.Port, ids.of(l.B.Node), l.B.Port, l.Rate})
		}
	}
	fmt.Fprint(w.out, "\n]\n}\n")
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}

// jsonWriter writes the elements of an array, one a line.
type jsonWriter struct {
	out *bufio.Writer
	any bool // one was written
	err error
}

func (w *jsonWriter) element(v any) {
	text, err := json.Marshal(v)
	if w.err = cmp.Or(w.err, err); w.err != nil {
		return
	}
	if w.any {
		fmt.Fprint(w.out, ",")
	}
	w.any = true
	fmt.Fprint(w.out, "\n")
	w.out.Write(text)
}

func nodeToJSON(f *fabric.Fabric, id fabric.NodeID, name string) jsonNode {
	n := f.Node(id)
	j := jsonNode{
		ID: name, Kind: n.Kind.String(), GUID: n.GUID, Name: n.Name, Ports: n.NumPorts,
		SystemGUID: n.SystemGUID, VendorID: n.VendorID, DeviceID: n.DeviceID,
		EnhancedPort0: n.EnhancedPort0, Aggregation: n.Aggregation,
	}
	if !utf8.ValidString(n.Name) {
		j.Name, j.NameHex = "", hex.EncodeToString([]byte(n.Name))
	}
	if n.MulticastCap != capUnsaid(n.Kind) {
		j.MulticastCap = &n.MulticastCap
	}
	for p := 0; p <= int(n.NumPorts); p++ {
		port := f.Port(fabric.End{Node: id, Port: uint16(p)})
		if port.PortInfo != (fabric.PortInfo{}) {
			j.PortInfo = append(j.PortInfo, jsonPort{uint16(p), port.GUID, uint16(port.LID), port.LMC})
		}
	}
	return j
}

// capUnsaid is the multicast capacity of a node that says nothing of it.
func capUnsaid(k fabric.Kind) int32 {
	if k == fabric.Switch {
		return fabric.CapUnknown
	}
	return 0
}
