// Package format reads and writes forwarding tables in the text forms of the
// tools that administrators know, so that what heddle computed can be held
// against what a subnet's switches hold, and judged by other programs:
//
//   - MFTs as dump_mfts and ibroute -M of infiniband-diags print them, see
//     [WriteMFTs] and [ReadMFTs], and beside them a file of each group's members,
//     see [WriteMembers] and [ReadMembers];
//   - LFTs as dump_lfts and ibroute print them, and as OpenSM's file
//     opensm-lfts.dump has them, see [WriteLFTs], [WriteOpenSMLFTs] and
//     [ReadLFTs];
//   - LFTs as OpenSM's file opensm.fdbs (formerly osm.fdbs) has them, see
//     [WriteFDBs] and [ReadFDBs], and MFTs as its file opensm.mcfdbs has them, see
//     [WriteMCFDBs].
//
// A reader needs the graph that the tables are of. It finds a table's switch by
// its GUID, or where the fabric has no such GUID by its description or ID. Lines
// that are no part of a table, such as the warnings that the tools print, are
// passed over; what is wrong within a table is an [Error] with the line's number.
// Lines are at most [MaxLine] bytes long.
//
//	tables, err := format.ReadMFTs(file, graph)
package format
