package mad

import "fmt"

// Class is a management class (IBTA 1, 13.4.4).
type Class uint8

// The classes that heddle knows by name.
const (
	ClassLID      Class = 0x01 // subnet management, routed by LID
	ClassSA       Class = 0x03 // subnet administration
	ClassPerf     Class = 0x04 // performance management
	ClassBM       Class = 0x05 // baseboard management
	ClassDevMgt   Class = 0x06 // device management
	ClassCM       Class = 0x07 // communication management
	ClassSNMP     Class = 0x08
	ClassVendor   Class = 0x09 // the first of the vendor classes without RMPP, to 0x0F
	ClassCC       Class = 0x21 // congestion control
	ClassVendor2  Class = 0x30 // the first of the vendor classes with an OUI, to 0x4F
	ClassDirected Class = 0x81 // subnet management by directed route
)

// IsSMP tells whether datagrams of the class are subnet management packets,
// which go to QP 0 on VL 15.
func (c Class) IsSMP() bool { return c == ClassLID || c == ClassDirected }

// IsVendorOUI tells whether the class is one of the vendor classes whose
// datagrams carry an OUI and may use RMPP.
func (c Class) IsVendorOUI() bool { return c >= ClassVendor2 && c <= 0x4F }

// String names the class.
func (c Class) String() string {
	switch c {
	case ClassLID:
		return "Subn"
	case ClassDirected:
		return "SubnDirected"
	case ClassSA:
		return "SubnAdm"
	case ClassPerf:
		return "PerfMgt"
	case ClassBM:
		return "BM"
	case ClassDevMgt:
		return "DevMgt"
	case ClassCM:
		return "ComMgt"
	case ClassSNMP:
		return "SNMP"
	case ClassCC:
		return "CC"
	default:
		return fmt.Sprintf("class(%#02x)", uint8(c))
	}
}

// Method is what a datagram asks or answers (IBTA 1, 13.4.5).
type Method uint8

const responseBit Method = 0x80

// The methods.
const (
	MethodGet           Method = 0x01
	MethodSet           Method = 0x02
	MethodSend          Method = 0x03
	MethodTrap          Method = 0x05
	MethodReport        Method = 0x06
	MethodTrapRepress   Method = 0x07
	MethodGetTable      Method = 0x12
	MethodGetTraceTable Method = 0x13
	MethodGetMulti      Method = 0x14
	MethodDelete        Method = 0x15
	MethodGetResp              = MethodGet | responseBit
	MethodReportResp           = MethodReport | responseBit
	MethodGetTableResp         = MethodGetTable | responseBit
	MethodGetMultiResp         = MethodGetMulti | responseBit
	MethodDeleteResp           = MethodDelete | responseBit
)

// IsResponse tells whether the method ends a transaction. TrapRepress does: it
// answers a Trap.
func (m Method) IsResponse() bool { return m&responseBit != 0 || m == MethodTrapRepress }

// Response is the method of the answer: GetResp for Get and for Set. ok is
// false where nothing answers the method.
func (m Method) Response() (r Method, ok bool) {
	switch m {
	case MethodGet, MethodSet:
		return MethodGetResp, true
	case MethodTrap:
		return MethodTrapRepress, true
	case MethodReport, MethodGetTable, MethodGetMulti, MethodDelete:
		return m | responseBit, true
	case MethodGetTraceTable:
		return MethodGetTableResp, true
	default:
		return 0, false
	}
}

// String names the method.
func (m Method) String() string {
	switch m {
	case MethodGet:
		return "Get"
	case MethodSet:
		return "Set"
	case MethodSend:
		return "Send"
	case MethodTrap:
		return "Trap"
	case MethodReport:
		return "Report"
	case MethodTrapRepress:
		return "TrapRepress"
	case MethodGetTable:
		return "GetTable"
	case MethodGetTraceTable:
		return "GetTraceTable"
	case MethodGetMulti:
		return "GetMulti"
	case MethodDelete:
		return "Delete"
	case MethodGetResp:
		return "GetResp"
	case MethodReportResp:
		return "ReportResp"
	case MethodGetTableResp:
		return "GetTableResp"
	case MethodGetMultiResp:
		return "GetMultiResp"
	case MethodDeleteResp:
		return "DeleteResp"
	default:
		return fmt.Sprintf("method(%#02x)", uint8(m))
	}
}

// MKey is a management key: who knows a port's may change the port.
type MKey uint64

// String is the key in hexadecimal.
func (k MKey) String() string { return fmt.Sprintf("%#016x", uint64(k)) }
